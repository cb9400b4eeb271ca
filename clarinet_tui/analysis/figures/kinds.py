"""Figures of recorded runs: accuracy, losses, label budget, confusion and classes.

A figure shows the runs that the board counts, by task and method in the paper's order.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np

from clarinet_tui.analysis.board import PAPER_PRESETS, Board, make_board
from clarinet_tui.analysis.choices import BandKind, Rule
from clarinet_tui.analysis.comparison import Side, make_sides
from clarinet_tui.analysis.figures.figure import (
    AnyPanel,
    ConfusionMatrix,
    Figure,
    FigureCurve,
    HeatMap,
    Panel,
    class_curves,
    colour_indices,
)
from clarinet_tui.analysis.published import PUBLISHED, method_title
from clarinet_tui.analysis.run_records import RunRecords
from clarinet_tui.analysis.seed_curves import (
    BAND_DESCRIPTIONS,
    POINTS,
    SeedBand,
    average_runs,
    make_seed_band,
    read_run_evaluations,
    run_curve,
)
from clarinet_tui.analysis.selection import RULE_DESCRIPTIONS, last_stage
from clarinet_tui.chart.curve import Curve
from clarinet_tui.history.axes import AXES, Axis
from clarinet_tui.history.curves import list_metrics, read_series
from clarinet_tui.history.queries import get_run, read_evaluations, read_events
from clarinet_tui.history.variants import ExcludedRuns, format_settings, setting_differences
from clarinet_tui.runs.journal import is_confusion_matrix
from clarinet_tui.text import format_count, format_setting, format_task
from core.errors import InputError
from core.metrics import shown_in

MAXIMUM_VARIANTS = 8
"""Variants of a method that a panel shows: those with most finished seeds."""


@dataclass(frozen=True)
class FigureRuns:
    """Sides of one preset, and notes on excluded runs."""

    sides: tuple[Side, ...]
    notes: tuple[str, ...]

    @property
    def tasks(self) -> list[str]:
        return list(dict.fromkeys(side.task for side in self.sides))

    @property
    def colour_indices(self) -> dict[str, int]:
        return colour_indices((side.method, side.title) for side in self.sides)

    def sides_of_task(self, task: str) -> list[Side]:
        return [side for side in self.sides if side.task == task]


def find_figure_runs(reader: RunRecords, query: str = "", *, preset: str | None = None) -> FigureRuns:
    """Find the matching runs of one preset, by default that of most finished runs."""
    return runs_of_board(reader, make_board(reader, query, preset=preset))


def runs_of_board(reader: RunRecords, board: Board) -> FigureRuns:
    sides = make_sides([record for record in reader.search(board.query) if record.row.preset == board.preset])
    if not sides:
        problem = f"no run matches {board.query!a}" if board.query else "there are no runs"
        raise InputError(f"{problem}: `clarinet ls` lists runs")
    sides.sort(key=lambda side: (board.tasks.index(side.task), board.methods.index(side.method), -side.accuracy.n))
    shown: list[Side] = []
    notes = [_note("", runs) for runs in board.excluded]
    for (task, method), found in groupby(sides, key=lambda side: (side.task, side.method)):
        variants = list(found)
        shown += variants[:MAXIMUM_VARIANTS]
        if more := variants[MAXIMUM_VARIANTS:]:
            name = f"{format_task(task)} {method_title(method)}"
            notes.append(f"{name}: {format_count(len(more), 'variant')} more not drawn: narrow the query")
    notes += [_note(f"{task_and_method(side)}: ", runs) for side in shown for runs in side.excluded]
    return FigureRuns(tuple(shown), tuple(notes))


def _note(prefix: str, excluded: ExcludedRuns) -> str:
    return f"excluded: {prefix}{excluded.reason} ({format_count(len(excluded.runs), 'run')})"


def task_and_method(side: Side) -> str:
    return f"{format_task(side.task)} {side.title}"


def make_figure_curve(seeds: SeedBand, name: str, colour_index: int, band: BandKind) -> FigureCurve:
    edges = seeds.edges[band]
    curve = FigureCurve.through(seeds.x, seeds.mean, *edges, name=name, colour_index=colour_index, filled=True)
    return replace(curve, members=tuple(map(thin_curve, seeds.members)))


def thin_curve(curve: Curve) -> Curve:
    """Reduce a curve to at most `POINTS` points, including the last one."""
    if curve.x.size <= POINTS:
        return curve
    kept = np.unique(np.linspace(0, curve.x.size - 1, POINTS).astype(np.int64))
    return Curve.through(curve.x[kept], curve.mean[kept])


def scale_curves(
    by_side: Sequence[Mapping[str, Curve]], units: Sequence[tuple[float, str]]
) -> tuple[list[dict[str, Curve]], str]:
    """Express x in the largest unit that fits twice into the longest curve, or the last one; return its name too."""
    longest = max((curve.x[-1] for curves in by_side for curve in curves.values() if curve.x.size), default=0.0)
    unit, name = next(((unit, name) for unit, name in units if longest >= 2 * unit), units[-1])
    scaled = [{run: replace(curve, x=curve.x / unit) for run, curve in curves.items()} for curves in by_side]
    return scaled, name


ACCURACY_UNITS: dict[Axis, tuple[tuple[float, str], ...]] = {
    "samples": (
        (1e6, "images trained on (millions)"),
        (1e3, "images trained on (thousands)"),
        (1.0, "images trained on"),
    ),
    "time": (
        (86400.0, "device time (days)"),
        (3600.0, "device time (h)"),
        (60.0, "device time (min)"),
        (1.0, "device time (s)"),
    ),
}


def accuracy_figure(reader: RunRecords, runs: FigureRuns, *, axis: Axis = "epoch", band: BandKind = "std") -> Figure:
    """Show the last stage only, because stage 1 trains another classifier; two-step curves start after stage 1."""
    panels, absent, drawn = [], [], []
    for task in runs.tasks:
        sides = runs.sides_of_task(task)
        by_side = [{run.run: _accuracy_curve(reader, run.run, axis) for run in side.runs} for side in sides]
        scaled, x_name = scale_curves(by_side, ACCURACY_UNITS.get(axis, ((1.0, AXES[axis]),)))
        task_curves = []
        for side, curves in zip(sides, scaled, strict=True):
            seeds = average_runs(side, curves, exact=axis != "time")
            curve = make_figure_curve(seeds, side.title, runs.colour_indices[side.title], band)
            if curve.last is None:  # a target without labels has no accuracy
                absent.append(task_and_method(side))
                continue
            result = PUBLISHED.get((side.method, task))
            task_curves.append(replace(curve, published=result.mean if result else None))
            drawn.append(side)
        if task_curves:
            panels.append(Panel(format_task(task), x_name, "target accuracy (%)", tuple(task_curves)))
    notes = _accuracy_notes(drawn, band)
    if any(curve.published is not None for panel in panels for curve in panel.curves):
        other = {side.preset for side in runs.sides} - PAPER_PRESETS
        protocol = f", which preset {', '.join(sorted(map(str, other)))} does not follow" if other else ""
        notes.append(f"Dashed: the published mean of the last epoch under the paper's protocol{protocol}.")
    notes += [f"{', '.join(absent)}: no values along {AXES[axis]}"] if absent else []
    return Figure("accuracy", "Target accuracy", tuple(panels), (*notes, *runs.notes))


def _accuracy_curve(reader: RunRecords, run: str, axis: Axis) -> Curve:
    row = get_run(reader.db, run)
    if row is None:
        raise InputError(f"run {run}: its directory has been removed; try again")
    evaluations = read_run_evaluations(reader.db, reader.record(row))
    return run_curve(reader.db, run, evaluations, "target_accuracy", axis, POINTS)


def _accuracy_notes(sides: Sequence[Side], band: BandKind) -> list[str]:
    """Explain curve and band, and list the number of seeds."""
    notes = [f"Curve: mean over seeds of the finished runs; band: {BAND_DESCRIPTIONS[band]}."]
    counts = Counter(side.accuracy.n for side in sides if side.accuracy.n)
    if counts:
        usual, _ = counts.most_common(1)[0]
        others = [f"{task_and_method(side)} {side.accuracy.n}" for side in sides if side.accuracy.n not in (0, usual)]
        notes.append(f"Seeds: {usual} of each method{', except ' if others else ''}{', '.join(others)}.")
    unfinished = [task_and_method(side) for side in sides if not side.accuracy.n]
    if unfinished:
        notes.append(f"{', '.join(unfinished)}: no finished run, so all unfinished runs are averaged")
    return notes


LOSSES = tuple(shown_in("loss figure"))
LOSS_POINTS = 100
"""Points of a curve, each the mean of its iterations."""
LOSS_UNITS = ((1e6, "iteration (millions)"), (1e3, "iteration (thousands)"), (1.0, "iteration"))


def losses_figure(
    reader: RunRecords,
    runs: FigureRuns,
    *,
    metrics: Sequence[str] = LOSSES,
    band: BandKind = "std",
    points: int = LOSS_POINTS,
) -> Figure:
    """A panel for each task and metric that any run has."""
    if unlisted := [name for name in metrics if name not in LOSSES]:
        known = {name for side in runs.sides for run in side.runs for name in list_metrics(reader.db, run.run)}
        for name in unlisted:
            if name not in known:
                raise InputError(f"--metric: no run has {name!a}; available: {', '.join(sorted(known)) or 'none yet'}")
    panels, missing = [], 0
    for task in runs.tasks:
        sides = runs.sides_of_task(task)
        for metric in metrics:
            read = [
                {run.run: read_series(reader.db, run.run, metric, width=points) for run in side.runs} for side in sides
            ]
            by_side = [{run: curve for run, curve in curves.items() if curve.x.size} for curves in read]
            missing += sum(int(curve.missing.sum()) for curves in by_side for curve in curves.values())
            panels.append(_loss_panel(runs, task, metric, by_side, band))
    notes = [
        f"Curve: mean over seeds of the finished runs; band: {BAND_DESCRIPTIONS[band]}; "
        "for a single run, the range of the iterations that a point averages."
    ]
    notes += [f"{missing} values are not finite and not drawn"] if missing else []
    drawn = tuple(panel for panel in panels if panel.curves)
    return Figure("losses", "Losses", drawn, (*notes, *runs.notes), columns=min(3, len(metrics)))


def _loss_panel(runs: FigureRuns, task: str, metric: str, by_side: list[dict[str, Curve]], band: BandKind) -> Panel:
    """A single run has the range of each point's iterations as its band; noisy runs are not drawn behind a mean."""
    scaled, x_name = scale_curves(by_side, LOSS_UNITS)
    drawn = []
    for side, curves in zip(runs.sides_of_task(task), scaled, strict=True):
        seeds = average_runs(side, curves, exact=False)
        if seeds.x.size:
            curve = make_figure_curve(replace(seeds, members=()), side.title, runs.colour_indices[side.title], band)
            if len(curves) == 1:
                (one,) = curves.values()
                curve = replace(curve, low=one.low, high=one.high)
            drawn.append(curve)
    title = metric.replace("_", " ")
    return Panel(f"{format_task(task)}: {title}", x_name, title, tuple(drawn))


def setting_figure(
    reader: RunRecords,
    query: str = "",
    along: Sequence[str] = (),
    *,
    candidates: Sequence[str] = (),
    preset: str | None = None,
    rule: Rule = "last",
    band: BandKind = "std",
) -> Figure:
    """Accuracy against a setting, by default the one with most values: a panel for each task, a curve for each method.

    Runs that differ in other settings, too, are on curves of their own. Two settings make a heat map for each curve.
    `candidates` limits the settings that the default is chosen from.
    """
    board = make_board(reader, query, preset=preset)
    sides = [
        side
        for side in make_sides(reader.search(query), rule=rule)
        if side.preset == board.preset and side.settings and side.accuracy.n
    ]
    values = {name: _values(sides, name) for name in along or [_most_varied(sides, candidates)]}
    for name, found in values.items():
        if len(found) < 2:
            raise InputError(
                f"setting: finished runs do not differ in {name}: try `clarinet sweep --grid {name}=VALUE,VALUE`"
            )
    panels: list[AnyPanel] = []
    notes = [f"Points: mean over seeds, {RULE_DESCRIPTIONS[rule]}"]
    for task in (task for task in board.tasks if any(side.task == task for side in sides)):
        names = _names_without([side for side in sides if side.task == task], list(values))
        names.sort(key=lambda named: (board.methods.index(named[1][0].method), -len(named[1])))
        if more := names[MAXIMUM_VARIANTS:]:
            notes.append(f"{format_task(task)}: {format_count(len(more), 'combination')} of other settings not drawn")
        shown = names[:MAXIMUM_VARIANTS]
        if len(values) == 1:
            panels.append(_setting_panel(task, shown, *values.items(), band=band))
        else:
            panels += [_heat_map(f"{format_task(task)} {name}", members, values) for name, members in shown]
    if len(values) == 1:
        notes[0] += f"; bars: {BAND_DESCRIPTIONS[band]}; dots: seeds"
    notes[0] += "."
    return Figure("setting", f"Target accuracy against {' and '.join(values)}", tuple(panels), tuple(notes))


def _most_varied(sides: Sequence[Side], names: Sequence[str]) -> str:
    """Return the setting with most values; all settings that differ are candidates if there are no names."""
    first = (sides[0].settings or {}) if sides else {}
    candidates = names or [name for name in first if name not in ("method", "task", "preset", "stage1.seed")]
    most = max(candidates, key=lambda name: len(_values(sides, name)), default="")
    if len(_values(sides, most)) < 2:
        raise InputError(
            f"setting: finished runs do not differ in {' or '.join(names) or 'any setting'}: "
            f"try `clarinet sweep --grid {names[0] if names else 'classifier_rate'}=VALUE,VALUE`"
        )
    return most


def _values(sides: Sequence[Side], name: str) -> list[Any]:
    """Return the values of a setting in order: numbers before texts."""
    values = {side.settings[name] for side in sides if side.settings and name in side.settings}
    return sorted(values, key=lambda value: (isinstance(value, str), value))


def _names_without(sides: Sequence[Side], along: Sequence[str]) -> list[tuple[str, list[Side]]]:
    """Group sides that differ in the settings `along` alone, named by the others in which groups of a method differ."""
    groups: dict[Any, list[Side]] = {}
    for side in sides:
        others = {name: value for name, value in (side.settings or {}).items() if name not in along}
        groups.setdefault((frozenset(others.items()), repr(side.data)), []).append(side)
    named = []
    for members in groups.values():
        of_method = [group[0].settings or {} for group in groups.values() if group[0].method == members[0].method]
        own = members[0].settings or {}
        differing = dict.fromkeys(name for other in of_method for name in setting_differences(own, other))
        words = format_settings(own, [name for name in differing if name not in along])
        named.append((" ".join([method_title(members[0].method), *words]), members))
    return named


def _setting_panel(
    task: str, curves: Sequence[tuple[str, list[Side]]], setting: tuple[str, list[Any]], *, band: BandKind
) -> Panel:
    """Place numbers on an axis, which is logarithmic from a decade on, and other values in order."""
    name, values = setting
    is_number = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    if is_number and values[0] > 0 and values[-1] >= 10 * values[0]:
        places = {value: math.log10(value) for value in values}
    else:
        places = {value: float(value) if is_number else float(index) for index, value in enumerate(values)}
    colours = colour_indices((members[0].method, title) for title, members in curves)
    drawn = []
    for title, members in curves:
        points = [
            Curve.through([places[(side.settings or {})[name]]], [run.accuracy])
            for side in members
            for run in side.runs
            if run.accuracy is not None
        ]
        curve = make_figure_curve(make_seed_band(points), title, colours[title], band)
        drawn.append(replace(curve, members=tuple(points)))
    ticks = {place: format_setting(value) for value, place in places.items()}
    return Panel(format_task(task), name, "target accuracy (%)", tuple(drawn), has_error_bars=True, x_ticks=ticks)


def _heat_map(title: str, members: Sequence[Side], values: Mapping[str, list[Any]]) -> HeatMap:
    (x, columns), (y, rows) = values.items()
    means: dict[tuple[Any, Any], float | None] = {}
    for side in sorted(members, key=lambda side: side.accuracy.n):
        means[(side.settings or {}).get(x), (side.settings or {}).get(y)] = side.accuracy.mean
    cells = tuple(tuple(means.get((column, row)) for column in columns) for row in rows)
    return HeatMap(title, x, y, (*map(format_setting, columns),), (*map(format_setting, rows),), cells)


MAXIMUM_MATRICES = 24
"""Matrices in one figure."""


def confusion_figure(reader: RunRecords, runs: FigureRuns) -> Figure:
    """A matrix for each method and task, over the test images of its counted runs."""
    matrices = [matrix for side in runs.sides if (matrix := _matrix(reader, side))]
    notes = ["Rows: true classes, columns: predicted ones, in % of the true class; target test images, last epoch."]
    if len(matrices) > MAXIMUM_MATRICES:
        notes.append(f"{len(matrices) - MAXIMUM_MATRICES} more are not shown: select fewer tasks or methods")
    return Figure("confusion", "Confusion", tuple(matrices[:MAXIMUM_MATRICES]), (*notes, *runs.notes))


def _matrix(reader: RunRecords, side: Side) -> ConfusionMatrix | None:
    rows = [evaluated[-1] for run in side.counted if (evaluated := _read_confusions(reader, run, side.method))]
    if not rows:
        return None
    same_size = [row["confusion"] for row in rows if len(row["confusion"]) == len(rows[0]["confusion"])]
    summed = tuple(tuple(map(sum, zip(*counts, strict=True))) for counts in zip(*same_size, strict=True))
    seeds = format_count(len(same_size), "run")
    return ConfusionMatrix(f"{task_and_method(side)} ({seeds})", class_names(reader, side.counted, len(summed)), summed)


def _read_confusions(reader: RunRecords, run: str, method: str) -> list[dict[str, Any]]:
    """Return the evaluations of the method's last stage with a valid matrix; damaged journals may contain others."""
    stage = last_stage(method)
    rows = (row for row in read_evaluations(reader.db, run) if stage is None or row["stage"] == stage)
    return [row for row in rows if is_confusion_matrix(row["confusion"])]


def class_names(reader: RunRecords, runs: Sequence[str], count: int) -> tuple[str, ...]:
    """Return the names that one of the runs has recorded; numbers if none has that many."""
    for run in runs:
        for event in read_events(reader.db, run):
            names = event.get("classes") if event["event"] == "started" else None
            if isinstance(names, list) and len(names) == count:
                return tuple(map(str, names))
    return tuple(map(str, range(count)))


MAXIMUM_PANELS, MAXIMUM_CONFUSIONS = 12, 3


def classes_figure(records: RunRecords, runs: FigureRuns) -> Figure:
    """A panel for each counted run with a curve for each class, and its most frequent confusions as a note."""
    panels, notes = [], ["Target test images of each true class that were classified correctly, in %."]
    for side in runs.sides:
        for run in side.counted:
            rows = _read_confusions(records, run, side.method)
            if not rows:
                continue
            names = class_names(records, [run], len(rows[-1]["confusion"]))
            curves = class_curves([row for row in rows if len(row["confusion"]) == len(names)], names)
            panels.append(Panel(f"{task_and_method(side)} {run}", "epoch", "accuracy of the class, %", curves))
            notes.append(f"{run}: {_confusions(rows[-1]['confusion'], names)}")
    if len(panels) > MAXIMUM_PANELS:
        notes.append(f"{format_count(len(panels) - MAXIMUM_PANELS, 'run')} more not shown: select fewer")
    return Figure("classes", "Accuracy by class", tuple(panels[:MAXIMUM_PANELS]), (*notes, *runs.notes))


def _confusions(matrix: list[list[int]], names: tuple[str, ...]) -> str:
    """Describe the most frequent confusions, in shares of the true class."""
    shares = [
        (count / max(sum(row), 1), names[true], names[predicted])
        for true, row in enumerate(matrix)
        for predicted, count in enumerate(row)
        if true != predicted and count
    ]
    most = sorted(shares, reverse=True)[:MAXIMUM_CONFUSIONS]
    listed = ", ".join(f"{true} as {predicted} ({100 * share:.0f} %)" for share, true, predicted in most)
    return f"most often confused: {listed}" if listed else "no class is confused"
