"""Accuracy against the label budget: how many source images were labelled, or how many labels each of them has."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

from clarinet_tui.evidence.board import make_board
from clarinet_tui.evidence.board_rows import short_name
from clarinet_tui.evidence.figures.figure import MEANINGS, Band, Drawing, Line, Panel, slots
from clarinet_tui.evidence.figures.figure_runs import name_of
from clarinet_tui.evidence.run_records import Archive
from clarinet_tui.evidence.selection import SENTENCES, Rule
from clarinet_tui.evidence.sides import Side, sides_of
from clarinet_tui.evidence.statistics import Summary, t_interval
from core.errors import InputError

Budget = Literal["source_fraction", "ybars_per_sample"]
BUDGETS: tuple[Budget, ...] = get_args(Budget)
NAMES: dict[Budget, str] = {
    "source_fraction": "share of source images that are labelled",
    "ybars_per_sample": "complementary labels of each source image",
}


def budget(
    archive: Archive,
    query: str = "",
    *,
    along: Budget | None = None,
    preset: str | None = None,
    rule: Rule = "last",
    band: Band = "std",
) -> Drawing:
    """A line for each method, a panel for each task; runs differ in the budget alone, or are left out."""
    board = make_board(archive, query, preset=preset)
    sides = [
        side
        for side in sides_of(archive.search(query), rule=rule, every_group=True)
        if side.preset == board.preset and side.settings and side.accuracy.n
    ]
    along = along or _varied(sides)
    order = list(dict.fromkeys(method for part in board.parts for method in part.methods))
    colours, panels, left_out = slots(side.method for side in sides), [], []
    for task in (task for task in board.tasks if any(side.task == task for side in sides)):
        lines = []
        for method in sorted({side.method for side in sides if side.task == task}, key=order.index):
            ours = [side for side in sides if (side.task, side.method) == (task, method)]
            kept = _alike(ours, along)
            lines.append(_line(kept, along, colours[method], band))
            left_out += [name_of(side) for side in ours if side not in kept]
        panels.append(Panel(short_name(task), NAMES[along], "target accuracy (%)", tuple(lines), bars=True))
    notes = [f"Points: mean over seeds, {SENTENCES[rule]}; bars: {MEANINGS[band]}."]
    notes += [
        f"left out: {name}: differs in more than {along} ({count} {'protocol' if count == 1 else 'protocols'})"
        for name, count in Counter(left_out).items()
    ]
    return Drawing("budget", "Target accuracy and label budget", tuple(panels), tuple(notes))


def _varied(sides: Sequence[Side]) -> Budget:
    """The budget that runs differ in; of both, the one with more values."""
    values = {name: len({side.settings[name] for side in sides if side.settings}) for name in BUDGETS}
    most = max(BUDGETS, key=values.__getitem__)
    if values[most] < 2:
        raise InputError(
            "budget: no two finished runs differ in source_fraction or ybars_per_sample: "
            "try `clarinet sweep --grid source_fraction=0.1,0.3,1`"
        )
    return most


def _alike(sides: Sequence[Side], along: Budget) -> list[Side]:
    """Those that differ in the budget alone, of most values; of one value the side with most runs."""
    families: dict[Any, dict[float, Side]] = {}
    for side in sides:
        known = families.setdefault(_rest(side.settings or {}, along), {})
        value = (side.settings or {})[along]
        if value not in known or side.accuracy.n > known[value].accuracy.n:
            known[value] = side
    best = max(families.values(), key=lambda found: (len(found), sum(side.accuracy.n for side in found.values())))
    return [best[value] for value in sorted(best)]


def _rest(settings: Mapping[str, Any], along: Budget) -> Any:
    return frozenset((name, value) for name, value in settings.items() if name != along)


def _line(sides: Sequence[Side], along: Budget, slot: int, band: Band) -> Line:
    import numpy as np

    x = np.array([(side.settings or {})[along] for side in sides], dtype=np.float64)
    edges = np.array([_edges(side, band) for side in sides], dtype=np.float64)
    mean = np.array([side.accuracy.mean for side in sides], dtype=np.float64)
    return Line(sides[0].title, slot, x, mean, edges[:, 0], edges[:, 1])


def _edges(side: Side, band: Band) -> tuple[float, float]:
    """NaN where one seed has nothing to tell of spread."""
    values = [fact.accuracy for fact in side.runs if fact.accuracy is not None]
    if band == "range":
        return min(values), max(values)
    if band == "interval":
        interval = t_interval(values)
        return (interval.low, interval.high) if interval else (float("nan"), float("nan"))
    return _spread(side.accuracy)


def _spread(summary: Summary) -> tuple[float, float]:
    if summary.mean is None or summary.std is None:
        return float("nan"), float("nan")
    return summary.mean - summary.std, summary.mean + summary.std
