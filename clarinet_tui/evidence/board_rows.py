"""A table of the board line by line, as every format writes it."""

from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

from clarinet_tui.evidence.board import Board, Part, published_average
from clarinet_tui.evidence.board_cells import Cell
from core.tasks import PAPER_TASKS

Kind = Literal["measured", "published"]
AVERAGE = "Average"


@dataclass(frozen=True)
class Entry:
    """One place of a line; without a mean there is nothing to write."""

    mean: float | None = None
    std: float | None = None
    best: bool = False
    count: str = ""
    """Seeds or tasks, where they are not as many as were wanted: 3/5."""
    mixed: bool = False

    def text(self, decimals: int, plus_minus: str = " ± ") -> str:
        if self.mean is None:
            return ""
        spread = "" if self.std is None else f"{plus_minus}{self.std:.{decimals}f}"
        return f"{self.mean:.{decimals}f}{spread}"


@dataclass(frozen=True)
class Line:
    kind: Kind
    label: str
    """A task, or `AVERAGE`."""
    entries: tuple[Entry, ...]


def lines(board: Board, part: Part) -> list[Line]:
    """Of each task its measured and its published numbers, then the averages of both."""
    found = []
    for task in tasks_of(board, part):
        cells = [board.cells[method, task] for method in part.methods]
        best = board.best(task, part.methods)
        found.append(Line("measured", task, tuple(_measured(cell, cell.method in best) for cell in cells)))
        if any(cell.published for cell in cells):
            entries = (Entry(cell.published.mean, cell.published.std) if cell.published else Entry() for cell in cells)
            found.append(Line("published", task, tuple(entries)))
    return found + _averages(board, part)


def tasks_of(board: Board, part: Part) -> list[str]:
    """Tasks of which the part has anything to tell."""
    return [
        task
        for task in board.tasks
        if any(_told(board.cells[method, task]) for method in part.methods) or _published(part, task)
    ]


def short_name(label: str) -> str:
    """A task in one word, such as U→M; of own folders only their names."""
    return "→".join(PurePath(side).name or side for side in label.split("->"))


def _told(cell: Cell) -> bool:
    return bool(cell.states or cell.left_out)


def _published(part: Part, task: str) -> bool:
    return task in PAPER_TASKS and any(published_average(method) is not None for method in part.methods)


def _measured(cell: Cell, best: bool) -> Entry:
    if not cell.figures:
        return Entry()
    count = "" if len(cell.figures) == cell.wanted else f"{len(cell.figures)}/{cell.wanted}"
    return Entry(cell.summary.mean, cell.summary.std, best, count, bool(cell.mixed))


def _averages(board: Board, part: Part) -> list[Line]:
    """The published one is over the same tasks as the measured one, or over all; it never stands without the other."""
    best = board.best_average(part.methods)
    measured, published = [], []
    for method in part.methods:
        average = board.averages.get(method)
        if average is None:
            measured.append(Entry())
            published.append(Entry(published_average(method)))
            continue
        all_there = len(average.tasks) == len(PAPER_TASKS)
        count = "" if all_there else f"{len(average.tasks)}/{len(PAPER_TASKS)}"
        measured.append(Entry(average.mean, None, method in best, count))
        published.append(Entry(average.published, count=count))
    found = [Line("measured", AVERAGE, tuple(measured)), Line("published", AVERAGE, tuple(published))]
    known = [any(entry.mean is not None for entry in line.entries) for line in found]
    return found if known[1] else found[:1] if known[0] else []
