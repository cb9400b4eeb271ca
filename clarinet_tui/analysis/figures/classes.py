"""The accuracy of every class over the epochs of a run."""

from typing import Any

import numpy as np

from clarinet_tui.analysis.figures.confusion import class_names
from clarinet_tui.analysis.figures.figure import Curve, Figure, Panel
from clarinet_tui.analysis.figures.figure_runs import FigureRuns, task_and_method
from clarinet_tui.analysis.run_records import RunRecords
from clarinet_tui.analysis.selection import last_stage
from clarinet_tui.history.queries import read_evaluations
from clarinet_tui.runs.journal import is_confusion_matrix
from clarinet_tui.text import format_count

MAXIMUM_PANELS, MAXIMUM_CONFUSIONS = 12, 3


def classes_figure(records: RunRecords, runs: FigureRuns) -> Figure:
    """A panel for each counted run with a curve for each class, and its most frequent confusions as a note."""
    panels, notes = [], ["Target test images of each true class that were classified correctly, in %."]
    for side in runs.sides:
        for run in side.counted:
            stage = last_stage(side.method)
            rows = [row for row in read_evaluations(records.db, run) if stage is None or row["stage"] == stage]
            rows = [row for row in rows if is_confusion_matrix(row["confusion"])]
            if not rows:
                continue
            names = class_names(records, [run], len(rows[-1]["confusion"]))
            panels.append(_panel(f"{task_and_method(side)} {run}", rows, names))
            notes.append(f"{run}: {_confusions(rows[-1]['confusion'], names)}")
    if len(panels) > MAXIMUM_PANELS:
        notes.append(f"{format_count(len(panels) - MAXIMUM_PANELS, 'run')} more not shown: select fewer")
    return Figure("classes", "Accuracy by class", tuple(panels[:MAXIMUM_PANELS]), (*notes, *runs.notes))


def _panel(title: str, rows: list[dict[str, Any]], names: tuple[str, ...]) -> Panel:
    rows = [row for row in rows if len(row["confusion"]) == len(names)]
    epochs = np.array([row["epoch"] for row in rows], dtype=np.float64)
    matrices = np.array([row["confusion"] for row in rows], dtype=np.float64)
    with np.errstate(invalid="ignore"):
        shares = 100 * np.diagonal(matrices, axis1=1, axis2=2) / matrices.sum(axis=2)
    curves = tuple(Curve(name, index, epochs, shares[:, index]) for index, name in enumerate(names))
    return Panel(title, "epoch", "accuracy of the class, %", curves)


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
