"""Target accuracy along the training, a panel for each task: Figure 3 of the paper."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from clarinet_tui.evidence.board import PAPER_PRESETS
from clarinet_tui.evidence.board_rows import short_name
from clarinet_tui.evidence.figures.figure import MEANINGS, Band, Drawing, Panel
from clarinet_tui.evidence.figures.figure_runs import Chosen, in_units, line_of, name_of, record_of
from clarinet_tui.evidence.published import published
from clarinet_tui.evidence.run_records import Archive
from clarinet_tui.evidence.selection import last_stage
from clarinet_tui.evidence.sides import Side
from clarinet_tui.evidence.training_cost import EXACT, Axis, Course, course_of, curve
from clarinet_tui.history.queries import evaluations, events

if TYPE_CHECKING:
    from clarinet_tui.evidence.bands import Curve

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


def accuracy(archive: Archive, chosen: Chosen, *, axis: Axis = "epoch", band: Band = "std") -> Drawing:
    """Of the last stage only: stage 1 trains another classifier. A two-step line begins where stage 1 is paid for."""
    panels, absent = [], []
    for task in chosen.tasks:
        panel, without = _panel(archive, chosen, task, axis, band)
        panels += [panel] if panel.lines else []
        absent += without
    told = [f"{', '.join(absent)}: nothing to draw against {axis}"] if absent else []
    notes = (*_notes(chosen.sides, band), *_levels(panels, chosen.sides), *told, *chosen.notes)
    return Drawing("accuracy", "Target accuracy", tuple(panels), notes)


def _panel(archive: Archive, chosen: Chosen, task: str, axis: Axis, band: Band) -> tuple[Panel, list[str]]:
    sides = chosen.of(task)
    curves = [{fact.run: accuracy_curve(archive, fact.run, axis) for fact in side.runs} for side in sides]
    unit, name = in_units([one for found in curves for one in found.values()], UNITS[axis])
    lines = []
    for side, found in zip(sides, curves, strict=True):
        scaled = {run: (x / unit, y) for run, (x, y) in found.items()}
        known = published(side.method, task)
        level = known.mean if known else None
        lines.append(line_of(side, chosen.slots[side.method], scaled, band, exact=axis in EXACT, level=level))
    absent = [name_of(side) for side, line in zip(sides, lines, strict=True) if line is None]
    return Panel(short_name(task), name, "target accuracy (%)", tuple(line for line in lines if line)), absent


def accuracy_curve(archive: Archive, run: str, axis: Axis) -> "Curve":
    record = record_of(archive, run)
    stage = last_stage(record.row.method)
    rows = [row for row in evaluations(archive.db, run) if stage is None or row["stage"] == stage]
    course = course_of(record.config, events(archive.db, run)) if record.config else Course((), None)
    return curve(rows, "target_accuracy", axis, course)


def _notes(sides: Sequence[Side], band: Band) -> list[str]:
    """What line and band mean, and of how many seeds they are."""
    found = [f"Line: mean over seeds of the finished runs; band: {MEANINGS[band]}."]
    counts = Counter(side.accuracy.n for side in sides if side.accuracy.n)
    if not counts:
        return found + _unfinished(sides)
    usual, _ = counts.most_common(1)[0]
    others = [f"{name_of(side)} {side.accuracy.n}" for side in sides if side.accuracy.n not in (0, usual)]
    but = f", but {', '.join(others)}" if others else ""
    return [*found, f"Seeds: {usual} of each method{but}.", *_unfinished(sides)]


def _unfinished(sides: Sequence[Side]) -> list[str]:
    named = [name_of(side) for side in sides if not side.accuracy.n]
    return [f"{', '.join(named)}: no run is finished, so that the mean is of all as far as they came"] if named else []


def _levels(panels: Sequence[Panel], sides: Sequence[Side]) -> list[str]:
    if not any(line.level is not None for panel in panels for line in panel.lines):
        return []
    other = {side.preset for side in sides} - PAPER_PRESETS
    protocol = f", which preset {', '.join(sorted(map(str, other)))} does not follow" if other else ""
    return [f"Dashed: the published mean of the last epoch, by the paper's protocol{protocol}."]
