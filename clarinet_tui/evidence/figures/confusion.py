"""Which classes are taken for which: the last confusion matrices of a method's runs, summed."""

from collections.abc import Sequence
from typing import Any

from clarinet_tui.evidence.figures.figure import Drawing, Matrix
from clarinet_tui.evidence.figures.figure_runs import Chosen, counted, name_of
from clarinet_tui.evidence.run_records import Archive
from clarinet_tui.evidence.selection import last_stage
from clarinet_tui.evidence.sides import Side
from clarinet_tui.history.queries import evaluations, events

Counts = tuple[tuple[int, ...], ...]
MOST = 24
"""Matrices on one sheet."""


def confusion(archive: Archive, chosen: Chosen) -> Drawing:
    """A matrix for each method and task, of the test images of all its runs that count."""
    found = [matrix for side in chosen.sides if (matrix := _matrix(archive, side))]
    notes = ["Rows: true classes, columns: predicted ones, in % of the true class; target test images, last epoch."]
    if len(found) > MOST:
        notes.append(f"{len(found) - MOST} more are not drawn: ask for fewer tasks or methods")
    return Drawing("confusion", "Confusion", tuple(found[:MOST]), (*notes, *chosen.notes))


def _matrix(archive: Archive, side: Side) -> Matrix | None:
    read = [_last(archive, run, side.method) for run in counted(side)]
    matrices = [matrix for matrix in read if matrix]
    if not matrices:
        return None
    alike = [matrix for matrix in matrices if len(matrix) == len(matrices[0])]
    summed = tuple(tuple(map(sum, zip(*rows, strict=True))) for rows in zip(*alike, strict=True))
    seeds = f"{len(alike)} {'run' if len(alike) == 1 else 'runs'}"
    return Matrix(f"{name_of(side)} ({seeds})", _classes(archive, counted(side), len(summed)), summed)


def _last(archive: Archive, run: str, method: str) -> Counts | None:
    """Of the method's own stage; what is no square of counts comes from a journal that was hurt."""
    stage = last_stage(method)
    for row in reversed(evaluations(archive.db, run)):
        if (stage is None or row["stage"] == stage) and _square(row["confusion"]):
            return tuple(tuple(counts) for counts in row["confusion"])
    return None


def _square(matrix: Any) -> bool:
    if not isinstance(matrix, list) or not matrix:
        return False
    rows = [row for row in matrix if isinstance(row, list) and len(row) == len(matrix)]
    return len(rows) == len(matrix) and all(type(count) is int and count >= 0 for row in rows for count in row)


def _classes(archive: Archive, runs: Sequence[str], count: int) -> tuple[str, ...]:
    for run in runs:
        for said in events(archive.db, run):
            named = said.get("classes") if said["event"] == "started" else None
            if isinstance(named, list) and len(named) == count:
                return tuple(map(str, named))
    return tuple(map(str, range(count)))
