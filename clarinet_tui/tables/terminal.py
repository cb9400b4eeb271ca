"""Tables for a terminal, by Rich."""

from typing import TYPE_CHECKING

from clarinet_tui.tables.table import Cell, Table, fit_columns
from clarinet_tui.text import printable

if TYPE_CHECKING:
    from rich.table import Table as RichTable
    from rich.text import Text

STYLES = {
    "strong": "bold",
    "label": "bold",
    "best": "bold green",
    "muted": "dim",
    "faint": "dim",
    "live": "cyan",
    "good": "green",
    "bad": "red",
    "warn": "yellow",
}
"""The Rich style of each emphasis."""


def to_rich(table: Table, width: int = 0, *, gap: int = 2, least: int = 0) -> "RichTable":
    """Return a table without lines; in `width` columns, some are cut or dropped as they declare.

    Columns of numbers are at least `least` characters wide.
    """
    from rich.table import Table as RichTable
    from rich.text import Text

    table = table.visible()
    fitted: dict[int, int] = {}
    if width and any(column.least or column.drop for column in table.columns):
        full = list(map(table.width_of, range(len(table.columns))))
        fitted = fit_columns(table.columns, full, width, gap)
        table = table.select(fitted)
    view = RichTable(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="bold")
    for column, size in zip(table.columns, fitted.values() or [None] * len(table.columns), strict=True):
        view.add_column(
            Text(printable(column.title)),
            justify="right" if column.right else "left",
            no_wrap=not column.wraps,
            overflow="fold" if column.wraps else "ellipsis",
            width=size,
            min_width=least if column.right else None,
            max_width=column.most or None,
        )
    for row in table.rows:
        view.add_row(*map(rich_text, row.cells))
    return view


def rich_text(cell: Cell) -> "Text":
    """Return a cell with its styles; each of its lines without control characters."""
    from rich.text import Text

    spans = cell.parts or ((cell.text, cell.emphasis),)
    spans = (*spans, (f" {cell.note}", cell.emphasis)) if cell.note else spans
    text = Text()
    for part, emphasis in spans:
        text.append("\n".join(map(printable, part.split("\n"))), STYLES.get(emphasis, ""))
    return text
