"""The board for a terminal of 80 columns and more."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from statistics import fmean
from typing import TYPE_CHECKING

from clarinet_tui.analysis.board import Board, BoardCell, MethodTable
from clarinet_tui.analysis.board_table import (
    AVERAGE,
    STATES,
    BoardRow,
    RowValue,
    board_rows,
    excluded_notes,
    format_short_interval,
    rule_rows,
)
from clarinet_tui.analysis.published import method_title
from clarinet_tui.analysis.selection import ORACLE, RULE_HEADINGS, RULE_NOTES, RULE_ORDER, RULES_TITLE
from clarinet_tui.text import format_task, printable

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

DECIMALS = 2
LABEL, COLUMN = 11, 13
"""Width of the labels, and of each method."""
WIDE = 100
"""Terminal width from which ± is set off by spaces."""


def board_view(board: Board, width: int) -> "RenderableType":
    """Each table, split in several where the terminal is narrow, then the notes."""
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = []
    columns = max(1, (width - LABEL) // COLUMN)
    oracle = ", ORACLE SELECTION" if board.uses_oracle else ""
    for table in board.tables:
        for start in range(0, len(table.methods), columns):
            parts.append(Text(f"{table.title}: target accuracy in %{oracle}", style="italic"))
            parts += [_table(board, table, slice(start, start + columns), width >= WIDE), Text()]
    notes = [*board.notes, *excluded_notes(board, maximum_ids=6)]
    if any(cell.rules for cell in board.cells.values()):
        parts += [*_rules(board, width), Text()]
        notes += [f"{note}." for note in RULE_NOTES]
    parts += [Text(f"· {printable(note)}", style="dim") for note in notes]
    return Group(*parts)


def _table(board: Board, table: MethodTable, columns: slice, wide: bool) -> "Table":
    from rich.table import Table
    from rich.text import Text

    view = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    view.add_column("", no_wrap=True, overflow="ellipsis", max_width=2 * LABEL)
    methods = table.methods[columns]
    for method in methods:
        name = Text(printable(method_title(method)))
        view.add_column(name, justify="right", no_wrap=True, overflow="ellipsis", min_width=COLUMN - 1)
    for label, rows in groupby(board_rows(board, table), key=lambda row: row.label):
        for row in rows:
            view.add_row(*_row(row, columns, wide))
        if label != AVERAGE:
            for name_of_detail, values in _details([board.cells[method, label] for method in methods]):
                view.add_row(Text(f"  {name_of_detail}", style="dim"), *(Text(value, style="dim") for value in values))
    return view


def _row(row: BoardRow, columns: slice, wide: bool) -> "Iterator[Text]":
    from rich.text import Text

    measured = row.kind == "measured"
    yield Text(printable(format_task(row.label)), style="bold") if measured else Text("  paper", style="dim")
    for value in row.values[columns]:
        style = ("bold green" if value.best else "") if measured else "dim"
        count = value.count if row.label == AVERAGE else ""  # tasks have a line for the seeds
        yield Text(_value(value, measured, wide) + (f" {count}" if count else ""), style=style)


def _value(value: RowValue, measured: bool, wide: bool) -> str:
    if value.mean is None:
        return "–" if measured else ""
    return value.text(DECIMALS, " ± " if wide else "±") + ("†" if value.mixed else "")


def _details(cells: Sequence[BoardCell]) -> Iterator[tuple[str, list[str]]]:
    """Lines below a task that have a value for any method."""
    distances = [cell.distance for cell in cells]
    details: dict[str, list[str]] = {
        "distance": [f"{one.difference:+.{DECIMALS}f}" if one else "" for one in distances],
        "95 %": [format_short_interval(one.interval) if one and one.interval else "" for one in distances],
        "to oracle": [_to_oracle(cell) for cell in cells],
        "seeds": [f"{len(cell.results)}/{cell.wanted}" if cell.states else "" for cell in cells],
    }
    details |= {state: [str(cell.states.get(state, "")) for cell in cells] for state in STATES}
    yield from ((name, values) for name, values in details.items() if any(values))


def _to_oracle(cell: BoardCell) -> str:
    """The mean difference from the oracle, for rules other than the last epoch."""
    losses = [result.selected.regret for result in cell.results if result.selected.rule not in ("last", ORACLE)]
    return f"{0.0 - fmean(losses):.{DECIMALS}f}" if losses else ""


def _rules(board: Board, width: int) -> "Iterator[RenderableType]":
    """The same runs under each selection rule, in several tables where the terminal is narrow."""
    from rich.table import Table
    from rich.text import Text

    names = [(format_task(task), method_title(method)) for task, method, *_ in rule_rows(board, DECIMALS)]
    names_width = sum(max(len(pair[index]) for pair in names) + 1 for index in (0, 1))
    wide = width >= names_width + len(RULE_ORDER) * 2 * LABEL
    columns = len(RULE_ORDER) if wide else max(1, (width - names_width) // (COLUMN + 2))
    rows = [texts for _, _, *texts in rule_rows(board, DECIMALS, " ± " if wide else None)]
    for start in range(0, len(RULE_ORDER), columns):
        table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
        table.add_column("")
        table.add_column("")
        for rule in RULE_ORDER[start : start + columns]:
            table.add_column(RULE_HEADINGS[rule], justify="right", no_wrap=True, min_width=COLUMN)
        for pair, texts in zip(names, rows, strict=True):
            table.add_row(*(Text(printable(text)) for text in (*pair, *texts[start : start + columns])))
        yield Text(RULES_TITLE, style="italic")
        yield table
