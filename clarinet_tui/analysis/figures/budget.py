"""Accuracy against the label budget: the share of labelled source images, or the labels of each image."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from clarinet_tui.analysis.bands import BAND_DESCRIPTIONS
from clarinet_tui.analysis.board import make_board
from clarinet_tui.analysis.choices import BUDGETS, BandKind, Budget, Rule
from clarinet_tui.analysis.comparison import Side, make_sides
from clarinet_tui.analysis.figures.figure import Curve, Figure, Panel, colour_indices
from clarinet_tui.analysis.figures.figure_runs import task_and_method
from clarinet_tui.analysis.run_records import RunRecords
from clarinet_tui.analysis.selection import RULE_DESCRIPTIONS
from clarinet_tui.analysis.statistics import t_interval
from clarinet_tui.text import format_count, format_task
from core.errors import InputError

X_NAME: dict[Budget, str] = {
    "source_fraction": "share of source images that are labelled",
    "ybars_per_sample": "complementary labels of each source image",
}


def budget_figure(
    reader: RunRecords,
    query: str = "",
    *,
    along: Budget | None = None,
    preset: str | None = None,
    rule: Rule = "last",
    band: BandKind = "std",
) -> Figure:
    """A curve for each method, a panel for each task; runs that differ in more than the budget are excluded."""
    board = make_board(reader, query, preset=preset)
    sides = [
        side
        for side in make_sides(reader.search(query), rule=rule, every_group=True)
        if side.preset == board.preset and side.settings and side.accuracy.n
    ]
    along = along or _varied_budget(sides)
    colours, panels, excluded = colour_indices(side.method for side in sides), [], []
    for task in (task for task in board.tasks if any(side.task == task for side in sides)):
        curves = []
        for method in sorted({side.method for side in sides if side.task == task}, key=board.methods.index):
            method_sides = [side for side in sides if (side.task, side.method) == (task, method)]
            kept = _comparable(method_sides, along)
            curves.append(_curve(kept, along, colours[method], band))
            excluded += [task_and_method(side) for side in method_sides if side not in kept]
        panels.append(Panel(format_task(task), X_NAME[along], "target accuracy (%)", (*curves,), has_error_bars=True))
    notes = [f"Points: mean over seeds, {RULE_DESCRIPTIONS[rule]}; bars: {BAND_DESCRIPTIONS[band]}."]
    notes += [
        f"excluded: {name}: differs in more than {along} ({format_count(count, 'protocol')})"
        for name, count in Counter(excluded).items()
    ]
    return Figure("budget", "Target accuracy and label budget", tuple(panels), tuple(notes))


def _varied_budget(sides: Sequence[Side]) -> Budget:
    """Return the budget setting in which runs differ; of both, the one with more values."""
    values = {name: len({side.settings[name] for side in sides if side.settings}) for name in BUDGETS}
    most = max(BUDGETS, key=values.__getitem__)
    if values[most] < 2:
        raise InputError(
            "budget: finished runs do not differ in source_fraction or ybars_per_sample: "
            "try `clarinet sweep --grid source_fraction=0.1,0.3,1`"
        )
    return most


def _comparable(sides: Sequence[Side], along: Budget) -> list[Side]:
    """Return sides that differ in the budget only: the largest set of values, and the side with most runs for each."""
    by_settings: dict[Any, dict[float, Side]] = {}
    for side in sides:
        others = dict(side.settings or {})
        value = others.pop(along)
        known = by_settings.setdefault(frozenset(others.items()), {})
        if value not in known or side.accuracy.n > known[value].accuracy.n:
            known[value] = side
    best = max(by_settings.values(), key=lambda by_value: (len(by_value), sum(s.accuracy.n for s in by_value.values())))
    return [best[value] for value in sorted(best)]


def _curve(sides: Sequence[Side], along: Budget, colour_index: int, band: BandKind) -> Curve:
    import numpy as np

    x = np.array([(side.settings or {})[along] for side in sides], dtype=np.float64)
    edges = np.array([_edges(side, band) for side in sides], dtype=np.float64)
    mean = np.array([side.accuracy.mean for side in sides], dtype=np.float64)
    return Curve(sides[0].title, colour_index, x, mean, edges[:, 0], edges[:, 1])


def _edges(side: Side, band: BandKind) -> tuple[float, float]:
    """Return the ends of an error bar, NaN for a single seed."""
    values = [run.accuracy for run in side.runs if run.accuracy is not None]
    mean, std = side.accuracy.mean, side.accuracy.std
    if band == "range":
        return min(values), max(values)
    if band == "interval" and (interval := t_interval(values)):
        return interval.low, interval.high
    return (mean - std, mean + std) if mean is not None and std is not None else (math.nan, math.nan)
