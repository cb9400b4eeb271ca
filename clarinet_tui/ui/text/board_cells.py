"""The board as text for its view: what stands in each cell, as much of it as there is room for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from clarinet_tui.evidence.board_export import STATES
from clarinet_tui.evidence.board_rows import AVERAGE, Entry, Line, lines
from clarinet_tui.evidence.published import title
from clarinet_tui.evidence.statistics import Distance, Summary
from clarinet_tui.text import printable
from clarinet_tui.ui.snapshot.state_style import look
from clarinet_tui.ui.text.board_layout import Piece, Pieces, Sheet, SheetRow, SheetTable
from clarinet_tui.ui.text.task_name import task_name

if TYPE_CHECKING:
    from clarinet_tui.evidence.board import Board, Part
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


def sheet(board: Board, width: int, height: int) -> Sheet:
    """All tables below each other; empty lines between tasks where all of it then still fits, or its first table."""
    label = LABEL
    if width >= LABELLED:
        longest = max((len(task_name(task)) for task in board.tasks), default=0)
        label = min(max(longest, LABEL + 1) + 2, LONGEST_LABEL)
    column = max(NARROWEST, min(WIDEST, (width - label) // USUAL_COLUMNS))
    tables = tuple(_table(board, part, label, column) for part in board.parts)
    return Sheet(tables, label, column, _gap(tables, height))


def _gap(tables: tuple[SheetTable, ...], height: int) -> int:
    """All tables without gaps are better than one with them."""
    for shown in (tables, tables[:2], tables[:1]):
        rows = sum(len(table.rows) for table in shown)
        needed = sum(2 + sum(len(row.lines) for row in table.rows) for table in shown) + len(shown) - 1
        for gap in (1, 0):
            if needed + gap * rows <= height:
                return gap
    return 0


def _table(board: Board, part: Part, label: int, column: int) -> SheetTable:
    rule = (RULES[board.rule], "warn" if board.oracle else "muted")
    heading: Pieces = ((part.title, "strong"), ("  target accuracy in %, ", "muted"), rule)
    names = tuple(((f" {printable(title(method))}"[:column], "strong"),) for method in part.methods)
    rows = []
    for name, group in groupby(lines(board, part), key=lambda line: line.label):
        cells = [None if name == AVERAGE else board.cells[method, name] for method in part.methods]
        written = list(group)
        shown = tuple(_line(line, cells, label, column) for line in written)
        rows.append(SheetRow(None if name == AVERAGE else name, shown))
    return SheetTable(heading, part.methods, (_nothing(), *names), tuple(rows))


def _nothing() -> Pieces:
    return (("", ""),)


def _line(line: Line, cells: list[Cell | None], label: int, column: int) -> tuple[Pieces, ...]:
    measured = line.kind == "measured"
    name = printable(task_name(line.label)) if line.label != AVERAGE or label > LABEL else "Avg."
    name = name if len(name) < label else f"{name[: label - 2]}…"
    first: Piece = (name, "strong") if measured else ("paper", "faint")
    make = _measured if measured else _published
    places = [_whole(make(entry, cell, column), column) for entry, cell in zip(line.entries, cells, strict=True)]
    return ((first,), *places)


def _whole(pieces: Iterable[Piece], column: int) -> Pieces:
    """Only what fits: half a number would be another number."""
    kept: list[Piece] = []
    for text, role in pieces:
        if sum(len(before) for before, _ in kept) + len(text.rstrip()) > column:
            break
        kept.append((text, role))
    return tuple(kept)


def _measured(entry: Entry, cell: Cell | None, column: int) -> Iterator[Piece]:
    """Mean ± std, seeds, and a sign for each state that seeds are in."""
    roomy = column >= ROOMY
    room = 13 if roomy else 9
    interim = cell.interim if cell else Summary(0)
    if entry.mean is not None:
        mark = "†" if entry.mixed else ""
        yield f"{number(entry.mean, entry.std, roomy) + mark:<{room}}", "strong" if entry.best else ""
    elif interim.mean is not None:
        yield f"{number(interim.mean, interim.std if roomy else None, roomy) + '…':<{room}}", "live"
    else:
        yield f"{'–':>{6 if roomy else 5}}{'':<{room - (6 if roomy else 5)}}", "faint"
    if cell is None:
        yield (f" {entry.count}" if entry.count else ""), "muted"
        return
    if cell.states:
        yield f" {len(cell.figures)}/{cell.wanted}", "good" if cell.complete else "muted"
    there = [(look(state), count) for state in STATES if (count := cell.states.get(state, 0))]
    if there and roomy:
        yield " ", ""
    for seen, count in there:
        yield (f"{seen.sign}{count} " if column >= COUNTED else seen.sign), seen.role


def _published(entry: Entry, cell: Cell | None, column: int) -> Iterator[Piece]:
    """The paper's number, and how far the measured one is from it."""
    roomy = column >= ROOMY
    if entry.mean is None:
        return
    yield f"{number(entry.mean, entry.std, roomy):<{13 if roomy else 9}}", "muted"
    if cell is None:
        yield (f" {entry.count}" if entry.count else ""), "faint"
    elif cell.distance:
        yield f" {cell.distance.difference:+z.{2 if roomy else 1}f}", agreement(cell.distance)
        if cell.distance.interval and column >= GENEROUS:
            interval = cell.distance.interval
            yield f" {interval.low:+.1f}…{interval.high:+.1f}", "faint"


def agreement(distance: Distance) -> str:
    """The colour of a distance: whether chance alone may explain it; none where nobody can tell."""
    if distance.interval is None:
        return ""
    return "good" if distance.interval.low <= 0 <= distance.interval.high else "warn"


def number(mean: float, std: float | None, roomy: bool = True) -> str:
    """Points stand below each other."""
    if roomy:
        return f"{mean:>6.2f}" + ("" if std is None else f" ± {std:.2f}")
    return f"{mean:>5.1f}" + ("" if std is None else f"±{std:.1f}")
