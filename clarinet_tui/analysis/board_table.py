"""The board as rows and notes, which every format then writes in its own way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from clarinet_tui.analysis.published import published_average
from clarinet_tui.analysis.selection import format_rules
from clarinet_tui.analysis.statistics import Interval
from clarinet_tui.runs.state import RunState
from core.tasks import PAPER_TASKS

if TYPE_CHECKING:
    from clarinet_tui.analysis.board import Board, BoardCell, MethodTable

RowKind = Literal["measured", "published"]
STATES = (RunState.RUNNING, RunState.QUEUED, RunState.FAILED, RunState.STOPPED, RunState.LOST, RunState.SILENT)
"""Columns for seeds that have no finished run; a starting run counts as running."""
AVERAGE = "Average"
MIXED_NOTE = "averages runs that differ in settings, data or version."


@dataclass(frozen=True)
class RowValue:
    """One value of a row; empty without a mean."""

    mean: float | None = None
    std: float | None = None
    best: bool = False
    count: str = ""
    """Number of seeds or tasks if some are missing, such as 3/5."""
    mixed: bool = False

    def text(self, decimals: int, plus_minus: str = " ± ") -> str:
        if self.mean is None:
            return ""
        spread = "" if self.std is None else f"{plus_minus}{self.std:.{decimals}f}"
        return f"{self.mean:.{decimals}f}{spread}"


@dataclass(frozen=True)
class BoardRow:
    kind: RowKind
    label: str
    """A task, or `AVERAGE`."""
    values: tuple[RowValue, ...]


def board_rows(board: Board, table: MethodTable) -> list[BoardRow]:
    """Return a measured and a published row for each task, then the averages."""
    rows = []
    for task in table_tasks(board, table):
        cells = [board.cells[method, task] for method in table.methods]
        best = board.best(task, table.methods)
        rows.append(BoardRow("measured", task, tuple(_measured(cell, cell.method in best) for cell in cells)))
        if any(cell.published for cell in cells):
            published = (cell.published for cell in cells)
            values = tuple(RowValue(result.mean, result.std) if result else RowValue() for result in published)
            rows.append(BoardRow("published", task, values))
    return rows + _averages(board, table)


def table_tasks(board: Board, table: MethodTable) -> list[str]:
    """Tasks for which the table has runs or published results."""
    return [
        task
        for task in board.tasks
        if any(board.cells[method, task].states or board.cells[method, task].excluded for method in table.methods)
        or (task in PAPER_TASKS and any(published_average(method) is not None for method in table.methods))
    ]


def _measured(cell: BoardCell, best: bool) -> RowValue:
    if not cell.results:
        return RowValue()
    count = "" if len(cell.results) == cell.wanted else f"{len(cell.results)}/{cell.wanted}"
    return RowValue(cell.summary.mean, cell.summary.std, best, count, bool(cell.mixed))


def _averages(board: Board, table: MethodTable) -> list[BoardRow]:
    """The published average is over the tasks of the measured one, or over all tasks if there is none."""
    best = board.best_average(table.methods)
    measured, published = [], []
    for method in table.methods:
        average = board.averages.get(method)
        if average is None:
            measured.append(RowValue())
            published.append(RowValue(published_average(method)))
            continue
        has_all = len(average.tasks) == len(PAPER_TASKS)
        count = "" if has_all else f"{len(average.tasks)}/{len(PAPER_TASKS)}"
        measured.append(RowValue(average.mean, None, method in best, count))
        published.append(RowValue(average.published, count=count))
    rows = [BoardRow("measured", AVERAGE, tuple(measured)), BoardRow("published", AVERAGE, tuple(published))]
    has_values = [any(value.mean is not None for value in row.values) for row in rows]
    return rows if has_values[1] else rows[:1] if has_values[0] else []


def rule_rows(board: Board, decimals: int, plus_minus: str | None = " ± ") -> list[tuple[str, ...]]:
    """Return the task, the method and the results under each rule of every cell that has them."""
    return [
        (cell.task, cell.method, *format_rules(cell.rules, decimals, plus_minus))
        for cell in board.cells.values()
        if cell.rules
    ]


def run_notes(board: Board) -> list[str]:
    """List the counted runs of each cell."""
    return [f"{cell.task} {cell.method}: {' '.join(cell.runs)}" for cell in board.cells.values() if cell.results]


def excluded_notes(board: Board, *, maximum_ids: int | None = None) -> list[str]:
    """List the runs that are not counted, with the reason."""
    cells = [(f"{cell.task} {cell.method}: ", runs) for cell in board.cells.values() for runs in cell.excluded]
    excluded = [*(("", runs) for runs in board.excluded), *cells]
    return [f"excluded: {prefix}{runs.text(maximum_ids)}" for prefix, runs in excluded]


def format_short_interval(interval: Interval) -> str:
    return f"{interval.low:+.1f}…{interval.high:+.1f}"
