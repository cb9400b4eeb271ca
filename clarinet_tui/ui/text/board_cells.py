"""The board as text for its view: what stands in each cell, as much of it as there is room for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from clarinet_tui.evidence.board_rows import AVERAGE, BoardRow, RowValue, board_rows
from clarinet_tui.evidence.export import STATES
from clarinet_tui.evidence.published import method_title
from clarinet_tui.evidence.statistics import Distance, Summary
from clarinet_tui.text import format_task, printable
from clarinet_tui.ui.text.styled import Span, Spans, state_style

if TYPE_CHECKING:
    from clarinet_tui.evidence.board import Board, BoardTable
    from clarinet_tui.evidence.board_cells import Cell

USUAL_COLUMNS = 5
"""The methods of the paper's first table: they are to be in sight together."""
NARROWEST, WIDEST = 15, 40
ROOMY, COUNTED, GENEROUS = 21, 26, 30
"""Columns of a cell from which on it has two decimals, counts beside signs, and the interval of its distance."""
LABEL, LONGEST_LABEL = 5, 20
LABELLED = 116
"""Columns of the terminal from which on tasks may have long names."""
RULES = {
    "last": "last epoch, as in the paper",
    "best": "ORACLE SELECTION: best epoch by target labels",
    "risk": "epoch of least complementary risk on held-out source",
    "information": "epoch of most information on the target",
}
"""How the reported epoch was chosen, in a few words."""


@dataclass(frozen=True)
class LayoutRow:
    """A task, or the average, which the cursor passes over."""

    task: str | None
    lines: tuple[tuple[Spans, ...], ...]
    """Each has a label, and then a place for each method."""


@dataclass(frozen=True)
class LayoutTable:
    title: Spans
    methods: tuple[str, ...]
    head: tuple[Spans, ...]
    """Above the label, and above each method."""
    rows: tuple[LayoutRow, ...]


@dataclass(frozen=True)
class BoardLayout:
    tables: tuple[LayoutTable, ...] = ()
    label_width: int = 5
    """Columns of the terminal for what stands left of all methods."""
    column_width: int = 15
    """Columns of the terminal for each method."""
    gap: int = 0
    """Empty lines between tasks."""


@dataclass(frozen=True)
class CellPosition:
    """One cell: which table, which of its rows, which of its methods."""

    table: int = 0
    row: int = 0
    column: int = 0


def layout_board(board: Board, width: int, height: int) -> BoardLayout:
    """All tables below each other; empty lines between tasks where all of it then still fits, or its first table."""
    label = LABEL
    if width >= LABELLED:
        longest = max((len(format_task(task)) for task in board.tasks), default=0)
        label = min(max(longest, LABEL + 1) + 2, LONGEST_LABEL)
    column = max(NARROWEST, min(WIDEST, (width - label) // USUAL_COLUMNS))
    tables = tuple(_table(board, part, label, column) for part in board.tables)
    return BoardLayout(tables, label, column, _gap(tables, height))


def _gap(tables: tuple[LayoutTable, ...], height: int) -> int:
    """All tables without gaps are better than one with them."""
    for shown in (tables, tables[:2], tables[:1]):
        rows = sum(len(table.rows) for table in shown)
        needed = sum(2 + sum(len(row.lines) for row in table.rows) for table in shown) + len(shown) - 1
        for gap in (1, 0):
            if needed + gap * rows <= height:
                return gap
    return 0


def _table(board: Board, part: BoardTable, label: int, column: int) -> LayoutTable:
    rule = (RULES[board.rule], "warn" if board.uses_oracle else "muted")
    heading: Spans = ((part.title, "strong"), ("  target accuracy in %, ", "muted"), rule)
    names = tuple(((f" {printable(method_title(method))}"[:column], "strong"),) for method in part.methods)
    rows = []
    for name, group in groupby(board_rows(board, part), key=lambda line: line.label):
        cells = [None if name == AVERAGE else board.cells[method, name] for method in part.methods]
        written = list(group)
        shown = tuple(_line(line, cells, label, column) for line in written)
        rows.append(LayoutRow(None if name == AVERAGE else name, shown))
    return LayoutTable(heading, part.methods, (_nothing(), *names), tuple(rows))


def _nothing() -> Spans:
    return (("", ""),)


def _line(line: BoardRow, cells: list[Cell | None], label: int, column: int) -> tuple[Spans, ...]:
    measured = line.kind == "measured"
    name = printable(format_task(line.label)) if line.label != AVERAGE or label > LABEL else "Avg."
    name = name if len(name) < label else f"{name[: label - 2]}…"
    first: Span = (name, "strong") if measured else ("paper", "faint")
    make = _measured if measured else _published
    places = [_whole(make(entry, cell, column), column) for entry, cell in zip(line.values, cells, strict=True)]
    return ((first,), *places)


def _whole(pieces: Iterable[Span], column: int) -> Spans:
    """Only what fits: half a number would be another number."""
    kept: list[Span] = []
    for text, role in pieces:
        if sum(len(before) for before, _ in kept) + len(text.rstrip()) > column:
            break
        kept.append((text, role))
    return tuple(kept)


def _measured(entry: RowValue, cell: Cell | None, column: int) -> Iterator[Span]:
    """Mean ± std, seeds, and a sign for each state that seeds are in."""
    roomy = column >= ROOMY
    room = 13 if roomy else 9
    interim = cell.interim_summary if cell else Summary(0)
    if entry.mean is not None:
        mark = "†" if entry.mixed else ""
        yield f"{format_mean(entry.mean, entry.std, roomy) + mark:<{room}}", "strong" if entry.best else ""
    elif interim.mean is not None:
        yield f"{format_mean(interim.mean, interim.std if roomy else None, roomy) + '…':<{room}}", "live"
    else:
        yield f"{'–':>{6 if roomy else 5}}{'':<{room - (6 if roomy else 5)}}", "faint"
    if cell is None:
        yield (f" {entry.count}" if entry.count else ""), "muted"
        return
    if cell.states:
        yield f" {len(cell.results)}/{cell.wanted}", "good" if cell.is_complete else "muted"
    there = [(state_style(state), count) for state in STATES if (count := cell.states.get(state, 0))]
    if there and roomy:
        yield " ", ""
    for seen, count in there:
        yield (f"{seen.sign}{count} " if column >= COUNTED else seen.sign), seen.role


def _published(entry: RowValue, cell: Cell | None, column: int) -> Iterator[Span]:
    """The paper's number, and how far the measured one is from it."""
    roomy = column >= ROOMY
    if entry.mean is None:
        return
    yield f"{format_mean(entry.mean, entry.std, roomy):<{13 if roomy else 9}}", "muted"
    if cell is None:
        yield (f" {entry.count}" if entry.count else ""), "faint"
    elif cell.distance:
        yield f" {cell.distance.difference:+z.{2 if roomy else 1}f}", distance_role(cell.distance)
        if cell.distance.interval and column >= GENEROUS:
            interval = cell.distance.interval
            yield f" {interval.low:+.1f}…{interval.high:+.1f}", "faint"


def distance_role(distance: Distance) -> str:
    """The colour of a distance: whether chance alone may explain it; none where nobody can tell."""
    if distance.interval is None:
        return ""
    return "good" if distance.interval.low <= 0 <= distance.interval.high else "warn"


def format_mean(mean: float, std: float | None, roomy: bool = True) -> str:
    """Points stand below each other."""
    if roomy:
        return f"{mean:>6.2f}" + ("" if std is None else f" ± {std:.2f}")
    return f"{mean:>5.1f}" + ("" if std is None else f"±{std:.1f}")
