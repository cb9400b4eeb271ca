"""Lay out the board for a terminal's width and height: tables of cells, each a few spans."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from clarinet_tui.analysis.board_table import AVERAGE, STATES, board_table
from clarinet_tui.analysis.statistics import Distance
from clarinet_tui.text import format_mean, format_task, printable
from clarinet_tui.ui.text.styled import STATE_STYLES, Span, Spans

if TYPE_CHECKING:
    from clarinet_tui.analysis.board import Board, BoardCell, MethodTable
    from clarinet_tui.tables.table import Cell

VISIBLE_METHODS = 5
"""Methods of the paper's first table; the columns are so narrow that all of them are visible."""
MIN_COLUMN, MAX_COLUMN = 15, 40
WITH_COUNT, NAMED_PAPER = 20, 30
"""Column widths from which a cell has the number of seeds beside the std, and the word paper."""
MEASURED = 9
"""Width of the mean with its std, or with the number of seeds."""
MIN_LABEL, MAX_LABEL = 5, 20
LONG_LABELS = 116
"""Terminal width from which task names may be long."""
RULES = {
    "last": "last epoch, as in the paper",
    "best": "ORACLE SELECTION: best epoch by target labels",
    "risk": "epoch of least complementary risk on held-out source",
    "information": "epoch of most information on the target",
}
"""How the reported epoch is selected."""


@dataclass(frozen=True)
class LayoutRow:
    """A task, or the average, which the cursor skips."""

    task: str | None
    cells: tuple[Spans, ...]
    """A label, and one cell for each method."""


@dataclass(frozen=True)
class LayoutTable:
    title: Spans
    methods: tuple[str, ...]
    header: tuple[Spans, ...]
    """Above the labels and above each method."""
    rows: tuple[LayoutRow, ...]


@dataclass(frozen=True)
class BoardLayout:
    tables: tuple[LayoutTable, ...] = ()
    label_width: int = MIN_LABEL
    column_width: int = MIN_COLUMN
    gap: int = 0
    """Empty lines between tasks."""


@dataclass(frozen=True)
class CellPosition:
    """Indices of a table, of its row and of its method."""

    table: int = 0
    row: int = 0
    column: int = 0


def layout_board(board: Board, width: int, height: int) -> BoardLayout:
    """Stack all tables, with a gap between tasks where everything still fits."""
    label = MIN_LABEL
    if width >= LONG_LABELS:
        longest = max((len(format_task(task)) for task in board.tasks), default=0)
        label = min(max(longest, MIN_LABEL + 1) + 2, MAX_LABEL)
    column = max(MIN_COLUMN, min(MAX_COLUMN, (width - label) // VISIBLE_METHODS))
    tables = tuple(_layout_table(board, table, label, column) for table in board.tables)
    return BoardLayout(tables, label, column, _choose_gap(tables, height))


def _choose_gap(tables: tuple[LayoutTable, ...], height: int) -> int:
    """All tables without gaps are better than one with them."""
    rows = sum(len(table.rows) for table in tables)
    lines = 2 * len(tables) + rows + len(tables) - 1
    return int(lines + rows <= height)


def _layout_table(board: Board, table: MethodTable, label: int, column: int) -> LayoutTable:
    rule = (RULES[board.rule], "warn" if board.uses_oracle else "muted")
    published = any(board.cells[method, task].published for method in table.methods for task in board.tasks)
    title: Spans = ((table.title, "strong"), (f"  target accuracy in %{' | paper' * published}, ", "muted"), rule)
    if published and board.preset and not board.is_comparable and column >= NAMED_PAPER:
        title += ((f"; preset {board.preset}, not that of the paper's numbers", "faint"),)
    described = board_table(board, table)
    names = tuple(((f" {printable(heading.title)}"[:column], "strong"),) for heading in described.columns[1:])
    rows = []
    for name, group in groupby(described.rows, key=lambda row: row.cells[0].value):
        measured, *below = group
        task = None if name == AVERAGE else name
        cells = [board.cells[method, task] if task else None for method in table.methods]
        means = [cell.value.mean for cell in below[0].cells[1:]] if below else [None] * len(cells)
        label_text = printable(measured.cells[0].text) if task or label > MIN_LABEL else "Avg."
        label_text = label_text if len(label_text) < label else f"{label_text[: label - 2]}…"
        spans = (
            _drop_overflow(_cell_spans(*found, column, board.is_comparable), column)
            for found in zip(measured.cells[1:], means, cells, strict=True)
        )
        rows.append(LayoutRow(task, (((label_text, "strong"),), *spans)))
    return LayoutTable(title, table.methods, ((("", ""),), *names), tuple(rows))


def _cell_spans(
    result: Cell, published: float | None, cell: BoardCell | None, column: int, comparable: bool
) -> Iterator[Span]:
    """Mean ± std, seeds and states, then the published mean and the distance: 69.9±4.5 5/5 | paper 94.5 -24.6.

    A narrow cell has the number of seeds in place of the std until it is complete: 69.9 3/5|94.5.
    """
    is_narrow = column < WITH_COUNT
    states = tuple(_state_spans(cell)) if cell else ()
    spans = [*_measured_spans(result, cell, is_narrow), *(() if is_narrow else states)]
    if not is_narrow:
        spans[-1] = (spans[-1][0].rstrip(), spans[-1][1])
    yield from spans
    if published is not None:
        yield (" | paper " if column >= NAMED_PAPER else "|"), "faint"
        yield f"{published:.1f}", "muted"
    if is_narrow:
        yield from states
    elif cell and cell.distance:
        yield f" {cell.distance.difference:+z.1f}", distance_role(cell.distance) if comparable else "faint"


def _drop_overflow(spans: Iterable[Span], column: int) -> Spans:
    """Keep the spans that fit as a whole: half a number would be another number."""
    kept: list[Span] = []
    for text, role in spans:
        if sum(len(before) for before, _ in kept) + len(text.rstrip()) > column:
            break
        kept.append((text, role))
    return tuple(kept)


def _measured_spans(result: Cell, cell: BoardCell | None, is_narrow: bool) -> Iterator[Span]:
    """Mean ± std and the number of seeds."""
    count, is_complete = result.note, False
    if cell is not None:
        count, is_complete = f"{len(cell.results)}/{cell.wanted}" if cell.states else "", cell.is_complete
    has_std = not (is_narrow and count and not is_complete)
    mean, std = result.value.mean, result.value.std if has_std else None
    interim = cell.interim_summary.mean if cell else None
    if mean is not None:
        mark = "†" if cell and cell.mixed else ""
        text, role = format_mean(mean, std, 1, "±") + mark, "strong" if result.emphasis == "best" else ""
    elif interim is not None:
        text, role, mean = f"{format_mean(interim, None, 1)}…", "live", interim
    else:
        text, role = "–", "faint"
    text = " " * (5 - len(format_mean(mean, None, 1))) + text  # decimal points align
    yield (f"{text:<{MEASURED}}" if has_std else text), role
    if count and not (is_narrow and has_std):
        yield f"{count:>{4 if has_std else MEASURED - len(text)}}", "good" if is_complete else "muted"


def _state_spans(cell: BoardCell) -> Iterator[Span]:
    for style in (STATE_STYLES[state] for state in STATES if cell.states.get(state, 0)):
        yield style.glyph, style.role


def distance_role(distance: Distance) -> str:
    """The role of a distance: good if its interval contains zero, none without an interval."""
    if distance.interval is None:
        return ""
    return "good" if distance.interval.low <= 0 <= distance.interval.high else "warn"
