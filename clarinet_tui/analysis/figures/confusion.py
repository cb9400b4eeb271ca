"""The last confusion matrices of a method's runs, summed."""

from collections.abc import Sequence

from clarinet_tui.analysis.comparison import Side
from clarinet_tui.analysis.figures.figure import ConfusionMatrix, Figure
from clarinet_tui.analysis.figures.figure_runs import FigureRuns, task_and_method
from clarinet_tui.analysis.run_records import RunRecords
from clarinet_tui.analysis.selection import last_stage
from clarinet_tui.history.queries import read_evaluations, read_events
from clarinet_tui.runs.journal import is_confusion_matrix
from clarinet_tui.text import format_count

Counts = tuple[tuple[int, ...], ...]
MAXIMUM = 24
"""Matrices in one figure."""


def confusion_figure(reader: RunRecords, runs: FigureRuns) -> Figure:
    """A matrix for each method and task, over the test images of its counted runs."""
    matrices = [matrix for side in runs.sides if (matrix := _matrix(reader, side))]
    notes = ["Rows: true classes, columns: predicted ones, in % of the true class; target test images, last epoch."]
    if len(matrices) > MAXIMUM:
        notes.append(f"{len(matrices) - MAXIMUM} more are not shown: select fewer tasks or methods")
    return Figure("confusion", "Confusion", tuple(matrices[:MAXIMUM]), (*notes, *runs.notes))


def _matrix(reader: RunRecords, side: Side) -> ConfusionMatrix | None:
    matrices = [matrix for run in side.counted if (matrix := _last_matrix(reader, run, side.method))]
    if not matrices:
        return None
    same_size = [matrix for matrix in matrices if len(matrix) == len(matrices[0])]
    summed = tuple(tuple(map(sum, zip(*rows, strict=True))) for rows in zip(*same_size, strict=True))
    seeds = format_count(len(same_size), "run")
    return ConfusionMatrix(f"{task_and_method(side)} ({seeds})", class_names(reader, side.counted, len(summed)), summed)


def _last_matrix(reader: RunRecords, run: str, method: str) -> Counts | None:
    """Return the last valid matrix of the method's last stage; damaged journals may contain others."""
    stage = last_stage(method)
    for row in reversed(read_evaluations(reader.db, run)):
        if (stage is None or row["stage"] == stage) and is_confusion_matrix(row["confusion"]):
            return tuple(tuple(counts) for counts in row["confusion"])
    return None


def class_names(reader: RunRecords, runs: Sequence[str], count: int) -> tuple[str, ...]:
    """Return the names that one of the runs has recorded; numbers if none has that many."""
    for run in runs:
        for event in read_events(reader.db, run):
            names = event.get("classes") if event["event"] == "started" else None
            if isinstance(names, list) and len(names) == count:
                return tuple(map(str, names))
    return tuple(map(str, range(count)))
