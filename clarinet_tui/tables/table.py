"""A table as columns and typed cells, which the writers of `tables` and of the app turn into text.

A table is described once, without markup: a cell has the value that programs read, the text that people read, an
emphasis, and a note. Escaping is the writers' work.

    table = make_table(["id", Column("accuracy", right=True)], [["6e3", Cell("83.61", "strong", value=83.612)]])
    console.print(to_rich(table))
    to_markdown(table), to_latex(table)
    write_csv(file, table.names, table.objects())
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from clarinet_tui.text import printable

Span = tuple[str, str]
"""A text and its emphasis."""


@dataclass(frozen=True)
class Column:
    title: str
    right: bool = False
    """Whether it is aligned to the right, as numbers are."""
    wraps: bool = False
    """Whether long text continues on the next line; else it is cut."""
    least: int = 0
    """The width that it may be cut to where there is little room; 0 if it is never cut."""
    most: int = 0
    """The width that it is always cut to; 0 if it has none."""
    drop: int = 0
    """Where there is still too little room, columns with the highest number are dropped first; 0 is never dropped."""
    growth: int = 1
    """Its share of spare room, relative to other columns that are cut."""
    optional: bool = False
    """Whether it is left out if all its cells are empty."""
    hidden: bool = False
    """Whether it is for programs alone."""
    name: str = ""
    """The key in CSV and JSON; by default the title with underscores."""
    latex: str = ""
    """The title with LaTeX markup, in place of the escaped title."""


@dataclass(frozen=True)
class Cell:
    text: str = ""
    emphasis: str = ""
    """A role such as strong, muted, faint, good, bad, warn or live; `best` is the best of its row, `label` its name."""
    note: str = ""
    """A short remark on the text, such as the number of seeds if some are missing."""
    value: Any = None
    """What programs read; by default the text."""
    latex: str = ""
    """The text with LaTeX markup, in place of the escaped text."""
    parts: tuple[Span, ...] = ()
    """The text in several styles, in place of `text` and `emphasis`."""

    @property
    def plain(self) -> str:
        """The text and the note on one line, without control characters."""
        text = "".join(part for part, _ in self.parts) or self.text
        return printable(f"{text} {self.note}" if self.note else text)


@dataclass(frozen=True)
class Row:
    cells: tuple[Cell, ...]
    kind: str = ""
    """What distinguishes the row in a format with styles, such as `published`."""
    starts_block: bool = False
    """Whether a line separates it from the rows above."""


@dataclass(frozen=True)
class Table:
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    title: str = ""

    @cached_property
    def names(self) -> list[str]:
        """The keys of the columns in CSV and JSON."""
        return [column.name or column.title.replace(" ", "_") for column in self.columns]

    def objects(self) -> Iterator[dict[str, Any]]:
        """Yield each row as its values by the keys of the columns."""
        for row in self.rows:
            values = (cell.text if cell.value is None else cell.value for cell in row.cells)
            yield dict(zip(self.names, values, strict=True))

    def width_of(self, position: int) -> int:
        """The width with which nothing in a column is cut."""
        from rich.cells import cell_len

        texts = (row.cells[position].plain for row in self.rows)
        return max(map(cell_len, (printable(self.columns[position].title), *texts)))

    def select(self, positions: Iterable[int]) -> "Table":
        """Return the table with these columns alone."""
        kept = list(positions)
        rows = tuple(replace(row, cells=tuple(row.cells[position] for position in kept)) for row in self.rows)
        return Table(tuple(self.columns[position] for position in kept), rows, self.title)

    def visible(self) -> "Table":
        """Return the table without columns for programs, and without optional ones that are empty."""
        return self.select(
            position
            for position, column in enumerate(self.columns)
            if not column.hidden and (not column.optional or any(row.cells[position].plain for row in self.rows))
        )

    def split(self, count: int, labels: int = 1) -> "Iterator[Table]":
        """Yield tables of at most `count` columns, each after the first columns, which are labels."""
        for start in range(labels, len(self.columns), max(count, 1)):
            yield self.select([*range(labels), *range(start, min(start + max(count, 1), len(self.columns)))])


def make_table(columns: Iterable[Column | str], rows: Iterable[Row | Iterable[Any]], title: str = "") -> Table:
    """Make a table; a column may be its title alone, a row its cells, and a cell its value."""
    described = (column if isinstance(column, Column) else Column(column) for column in columns)
    made = (row if isinstance(row, Row) else Row(tuple(map(as_cell, row))) for row in rows)
    return Table(tuple(described), tuple(made), title)


def as_cell(value: Any, emphasis: str = "") -> Cell:
    """Make a cell of a value; its text is empty for None, and joined by semicolons for a list."""
    if isinstance(value, Cell):
        return value
    text = "" if value is None else "; ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return Cell(text, emphasis, value=value)


def fit_columns(columns: Sequence[Column], full: Sequence[int], width: int, gap: int = 1) -> dict[int, int]:
    """Return the widths of the columns that fit, by position, with a gap after each.

    `full` are the widths with which nothing is cut. Columns are cut to their least width before any is dropped;
    spare room is then shared among the columns that are cut.
    """
    fitted = {at: min(size, columns[at].least or size) for at, size in enumerate(full)}
    while fitted and sum(fitted.values()) + gap * len(fitted) > width:
        last = max(fitted, key=lambda position: columns[position].drop)
        if not columns[last].drop:
            break
        del fitted[last]
    spare = width - sum(fitted.values()) - gap * len(fitted)
    while spare > 0 and (cut := [position for position in fitted if fitted[position] < full[position]]):
        total = sum(columns[position].growth for position in cut)
        shares = {position: spare * columns[position].growth // total for position in cut}
        if not any(shares.values()):
            break
        for position, share in shares.items():
            more = min(share, full[position] - fitted[position])
            fitted[position] += more
            spare -= more
    return fitted
