"""Target accuracy during training, a panel for each task: Figure 3 of the paper."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING

from clarinet_tui.analysis.bands import BAND_DESCRIPTIONS
from clarinet_tui.analysis.board import PAPER_PRESETS
from clarinet_tui.analysis.choices import Axis, BandKind
from clarinet_tui.analysis.comparison import Side
from clarinet_tui.analysis.figures.figure import Figure, Panel
from clarinet_tui.analysis.figures.figure_runs import FigureRuns, choose_unit, make_curve, read_record, task_and_method
from clarinet_tui.analysis.published import find_published
from clarinet_tui.analysis.run_records import RunRecords
from clarinet_tui.analysis.side_curves import POINTS, read_run_evaluations, run_curve
from clarinet_tui.analysis.training_cost import SHARED_AXES
from clarinet_tui.text import format_task

if TYPE_CHECKING:
    from clarinet_tui.analysis.bands import Points

UNITS: dict[Axis, tuple[tuple[float, str], ...]] = {
    "epoch": ((1.0, "epoch"),),
    "adaptation epoch": ((1.0, "adaptation epoch"),),
    "samples": (
        (1e6, "images trained on (millions)"),
        (1e3, "images trained on (thousands)"),
        (1.0, "images trained on"),
    ),
    "device time": (
        (86400.0, "device time (days)"),
        (3600.0, "device time (h)"),
        (60.0, "device time (min)"),
        (1.0, "device time (s)"),
    ),
    "iteration": ((1.0, "iteration"),),
}


def accuracy_figure(reader: RunRecords, runs: FigureRuns, *, axis: Axis = "epoch", band: BandKind = "std") -> Figure:
    """Show the last stage only, because stage 1 trains another classifier; two-step curves start after stage 1."""
    panels, absent = [], []
    for task in runs.tasks:
        panel, missing = _panel(reader, runs, task, axis, band)
        panels += [panel] if panel.curves else []
        absent += missing
    undrawn = [f"{', '.join(absent)}: no values along {axis}"] if absent else []
    drawn = [side for side in runs.sides if task_and_method(side) not in absent]
    notes = (*_notes(drawn, band), *_published_notes(panels, runs.sides), *undrawn, *runs.notes)
    return Figure("accuracy", "Target accuracy", tuple(panels), notes)


def _panel(reader: RunRecords, runs: FigureRuns, task: str, axis: Axis, band: BandKind) -> tuple[Panel, list[str]]:
    sides = runs.sides_of_task(task)
    runs_of_sides = [{run.run: _accuracy_curve(reader, run.run, axis) for run in side.runs} for side in sides]
    unit, name = choose_unit([curve for curves in runs_of_sides for curve in curves.values()], UNITS[axis])
    drawn, absent = [], []
    for side, curves in zip(sides, runs_of_sides, strict=True):
        scaled = {run: (x / unit, y) for run, (x, y) in curves.items()}
        curve = make_curve(side, runs.colour_indices[side.method], scaled, band, exact=axis in SHARED_AXES)
        if curve and any(map(isfinite, curve.y)):  # a target without labels has no accuracy
            result = find_published(side.method, task)
            drawn.append(replace(curve, published=result.mean if result else None))
        else:
            absent.append(task_and_method(side))
    return Panel(format_task(task), name, "target accuracy (%)", tuple(drawn)), absent


def _accuracy_curve(reader: RunRecords, run: str, axis: Axis) -> "Points":
    evaluations = read_run_evaluations(reader.db, read_record(reader, run))
    return run_curve(reader.db, run, evaluations, "target_accuracy", axis, POINTS)


def _notes(sides: Sequence[Side], band: BandKind) -> list[str]:
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


def _published_notes(panels: Sequence[Panel], sides: Sequence[Side]) -> list[str]:
    if not any(curve.published is not None for panel in panels for curve in panel.curves):
        return []
    other = {side.preset for side in sides} - PAPER_PRESETS
    protocol = f", which preset {', '.join(sorted(map(str, other)))} does not follow" if other else ""
    return [f"Dashed: the published mean of the last epoch under the paper's protocol{protocol}."]
