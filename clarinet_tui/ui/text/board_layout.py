"""Lay out the board for a terminal's width and height: tables of cells, each a few spans."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from clarinet_tui.evidence.board_rows import AVERAGE, STATES, BoardRow, RowValue, board_rows
from clarinet_tui.evidence.published import method_title
from clarinet_tui.evidence.statistics import Distance, Summary
from clarinet_tui.text import format_task, printable
from clarinet_tui.ui.text.styled import STATE_STYLES, Span, Spans

if TYPE_CHECKING:
    from clarinet_tui.evidence.board import Board, MethodTable
    from clarinet_tui.evidence.board_cells import Cell

VISIBLE_METHODS = 5
"""Methods of the paper's first table; the columns are so narrow that all of them are visible."""
MIN_COLUMN, MAX_COLUMN = 15, 40
TWO_DECIMALS, STATE_COUNTS = 21, 26
"""Column widths from which a cell on two lines has two decimals, and a count beside each state."""
ONE_LINE = 30
"""Column width from which measured and published numbers share a line."""
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
    lines: tuple[tuple[Spans, ...], ...]
    """Each line has a label and one cell for each method."""


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
    """Stack all tables, with a gap between tasks where everything, or at least the first table, still fits."""
    label = MIN_LABEL
    if width >= LONG_LABELS:
        longest = max((len(format_task(task)) for task in board.tasks), default=0)
        label = min(max(longest, MIN_LABEL + 1) + 2, MAX_LABEL)
    column = max(MIN_COLUMN, min(MAX_COLUMN, (width - label) // VISIBLE_METHODS))
    tables = tuple(_layout_table(board, table, label, column) for table in board.tables)
    return BoardLayout(tables, label, column, _choose_gap(tables, height))


def _choose_gap(tables: tuple[LayoutTable, ...], height: int) -> int:
    """All tables without gaps are better than one with them."""
    for shown in (tables, tables[:2], tables[:1]):
        rows = sum(len(table.rows) for table in shown)
        lines = sum(2 + sum(len(row.lines) for row in table.rows) for table in shown) + len(shown) - 1
        for gap in (1, 0):
            if lines + gap * rows <= height:
                return gap
    return 0


def _layout_table(board: Board, table: MethodTable, label: int, column: int) -> LayoutTable:
    rule = (RULES[board.rule], "warn" if board.uses_oracle else "muted")
    title: Spans = ((table.title, "strong"), ("  target accuracy in %, ", "muted"), rule)
    if not board.is_comparable:
        title += ((f"; preset {board.preset or 'mixed'}, not that of the paper's numbers", "faint"),)
    names = tuple(((f" {printable(method_title(method))}"[:column], "strong"),) for method in table.methods)
    rows = []
    for name, group in groupby(board_rows(board, table), key=lambda row: row.label):
        task = None if name == AVERAGE else name
        cells = [board.cells[method, task] if task else None for method in table.methods]
        lines = _layout_lines(list(group), cells, label, column, comparable=board.is_comparable)
        rows.append(LayoutRow(task, lines))
    return LayoutTable(title, table.methods, ((("", ""),), *names), tuple(rows))


def _layout_lines(
    group: list[BoardRow], cells: list[Cell | None], label: int, column: int, *, comparable: bool
) -> tuple[tuple[Spans, ...], ...]:
    """Lay out a task in one line where the columns are wide enough, else with the published numbers below."""
    if column < ONE_LINE:
        return tuple(_layout_line(row, cells, label, column, comparable) for row in group)
    measured, *published = group
    first, *_ = _layout_line(measured, cells, label, column, comparable)
    means = [value.mean for value in published[0].values] if published else [None] * len(cells)
    values = zip(measured.values, means, cells, strict=True)
    merged = (_drop_overflow(_merged_spans(*found, comparable), column) for found in values)
    return ((first, *merged),)


def _merged_spans(value: RowValue, published: float | None, cell: Cell | None, comparable: bool) -> Iterator[Span]:
    """Mean ± std, seeds and states, then the published mean and the distance: 69.9±4.5 5/5 | paper 94.5 -24.6."""
    *spans, last = _measured_spans(value, cell, ONE_LINE, decimals=1)
    yield from spans
    yield last[0].rstrip() or last[0], last[1]
    if published is not None:
        yield " | paper ", "faint"
        yield f"{published:.1f}", "muted"
        if cell and cell.distance:
            yield f" {cell.distance.difference:+z.1f}", distance_role(cell.distance) if comparable else "faint"


def _layout_line(
    row: BoardRow, cells: list[Cell | None], label: int, column: int, comparable: bool
) -> tuple[Spans, ...]:
    is_measured = row.kind == "measured"
    name = printable(format_task(row.label)) if row.label != AVERAGE or label > MIN_LABEL else "Avg."
    name = name if len(name) < label else f"{name[: label - 2]}…"
    first: Span = (name, "strong") if is_measured else ("paper", "faint")
    values = zip(row.values, cells, strict=True)
    rendered = (
        _measured_spans(value, cell, column) if is_measured else _published_spans(value, cell, column, comparable)
        for value, cell in values
    )
    return ((first,), *(_drop_overflow(spans, column) for spans in rendered))


def _drop_overflow(spans: Iterable[Span], column: int) -> Spans:
    """Keep the spans that fit as a whole: half a number would be another number."""
    kept: list[Span] = []
    for text, role in spans:
        if sum(len(before) for before, _ in kept) + len(text.rstrip()) > column:
            break
        kept.append((text, role))
    return tuple(kept)


def _measured_spans(value: RowValue, cell: Cell | None, column: int, decimals: int = 2) -> Iterator[Span]:
    """Mean ± std, number of seeds, and a glyph for each state of the seeds."""
    is_wide = column >= TWO_DECIMALS
    width, point = (13, 6) if is_wide else (9, 5)
    if decimals == 1:
        width, point, is_wide, column = 9, 5, False, TWO_DECIMALS
    interim = cell.interim_summary if cell else Summary(0)
    if value.mean is not None:
        mark = "†" if value.mixed else ""
        yield f"{format_mean(value.mean, value.std, is_wide) + mark:<{width}}", "strong" if value.best else ""
    elif interim.mean is not None:
        yield f"{format_mean(interim.mean, interim.std if is_wide else None, is_wide) + '…':<{width}}", "live"
    else:
        yield f"{'–':>{point}}".ljust(width), "faint"
    if cell is None:
        if value.count:
            yield f" {value.count}", "muted"
        return
    if cell.states:
        yield f" {len(cell.results)}/{cell.wanted}", "good" if cell.is_complete else "muted"
    counts = [(STATE_STYLES[state], count) for state in STATES if (count := cell.states.get(state, 0))]
    if counts and is_wide:
        yield " ", ""
    for style, count in counts:
        yield (f"{style.glyph}{count} " if column >= STATE_COUNTS else style.glyph), style.role


def _published_spans(value: RowValue, cell: Cell | None, column: int, comparable: bool) -> Iterator[Span]:
    """The published mean ± std, and the distance of the measured mean, faint under another protocol."""
    is_wide = column >= TWO_DECIMALS
    if value.mean is None:
        return
    yield f"{format_mean(value.mean, value.std, is_wide):<{13 if is_wide else 9}}", "muted"
    if cell is None:
        yield (f" {value.count}" if value.count else ""), "faint"
    elif cell.distance:
        role = distance_role(cell.distance) if comparable else "faint"
        yield f" {cell.distance.difference:+z.{2 if is_wide else 1}f}", role


def distance_role(distance: Distance) -> str:
    """The role of a distance: good if its interval contains zero, none without an interval."""
    if distance.interval is None:
        return ""
    return "good" if distance.interval.low <= 0 <= distance.interval.high else "warn"


def format_mean(mean: float, std: float | None, is_wide: bool = True) -> str:
    """Format mean ± std so that decimal points align."""
    if is_wide:
        return f"{mean:>6.2f}" + ("" if std is None else f" ± {std:.2f}")
    return f"{mean:>5.1f}" + ("" if std is None else f"±{std:.1f}")
