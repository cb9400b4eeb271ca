"""The writers of tables: for a terminal by Rich, Markdown, LaTeX with booktabs, HTML and CSV.

Each writer escapes all text, and removes control characters: names and messages come from journals.
"""

import csv
import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TextIO

from clarinet_tui.tables.table import Cell, Table, fit_columns
from clarinet_tui.text import printable

if TYPE_CHECKING:
    from jinja2 import Environment
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


MARKDOWN = {"best": "**", "strong": "**", "muted": "*"}
LATEX = {"best": "textbf", "strong": "textbf", "muted": "textit"}
"""The markup of each emphasis; others have none."""
CHARACTERS = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "→": r"$\rightarrow$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "λ": r"$\lambda$",
    "π": r"$\pi$",
    "θ": r"$\theta$",
    "†": r"$^\dagger$",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
} | {character: f"\\{character}" for character in "&%$#_{}"}
CHARACTERS |= {character: f"{{{character}}}" for character in "[]*"}
"""The last three would be read as arguments of the line end before them."""


def to_markdown(table: Table) -> str:
    """Return the title and the table."""
    columns = table.columns
    rows = [
        [escape_markdown(column.title) for column in columns],
        ["---:" if column.right else "---" for column in columns],
        *([_markdown_cell(cell) for cell in row.cells] for row in table.rows),
    ]
    title = [f"**{escape_markdown(table.title)}**", ""] if table.title else []
    return "\n".join([*title, *(f"| {' | '.join(row)} |" for row in rows)])


def _markdown_cell(cell: Cell) -> str:
    mark = MARKDOWN.get(cell.emphasis, "") if cell.text else ""
    return f"{mark}{escape_markdown(cell.text)}{mark}" + (f" ({escape_markdown(cell.note)})" if cell.note else "")


def escape_markdown(text: str) -> str:
    return re.sub(r"([\\|*_`\[\]<>])", r"\\\1", printable(text))


def to_latex(table: Table, notes: Sequence[str] = ()) -> str:
    """Return a floating table with its title as the caption, and notes below it."""
    below = "\\par\n".join(map(escape_latex, notes))
    rows = []
    for row in table.rows:
        cells = (_latex_cell(cell, is_number=col.right) for cell, col in zip(row.cells, table.columns, strict=True))
        rows.append(("\\midrule\n" if row.starts_block else "") + " & ".join(cells) + r" \\")
    lines = [
        r"\begin{table}[t]",
        r"\centering\small\setlength{\tabcolsep}{4pt}",
        rf"\caption{{{escape_latex(table.title)}}}",
        rf"\begin{{tabular}}{{{''.join('r' if column.right else 'l' for column in table.columns)}}}",
        r"\toprule",
        " & ".join(column.latex or escape_latex(column.title) for column in table.columns) + r" \\",
        *([r"\midrule"] if table.rows and not table.rows[0].starts_block else []),
        *rows,
        r"\bottomrule",
        r"\end{tabular}",
        *([r"\par\smallskip\begin{minipage}{\linewidth}\footnotesize\raggedright", below] if notes else []),
        *([r"\end{minipage}"] if notes else []),
        r"\end{table}",
        "",
    ]
    return "\n".join(lines)


def _latex_cell(cell: Cell, *, is_number: bool) -> str:
    """Blanks at the beginning indent; a number in brackets has a minus sign instead of a hyphen."""
    text = cell.latex or (r"\quad " if cell.text.startswith(" ") else "") + escape_latex(cell.text.lstrip())
    if is_number:
        text = text.replace("(-", "($-$")
        text = rf"\{LATEX[cell.emphasis]}{{{text}}}" if text and cell.emphasis in LATEX else text
    return text + (f" ({escape_latex(cell.note)})" if cell.note else "")


def escape_latex(text: str) -> str:
    """Escape every character that LaTeX would interpret or does not have."""
    escaped = []
    for character in printable(text):
        # Every LaTeX has accented Latin letters; other characters may be missing.
        is_latin = ord(character) < 0x100 and unicodedata.normalize("NFD", character)[0].isascii()
        plain = character if is_latin else rf"\texttt{{U+{ord(character):04X}}}"
        escaped.append(CHARACTERS.get(character, plain))
    return "".join(escaped)


@cache
def html_templates(package: str) -> "Environment":
    """Return the templates of a package, which escape every text that they show and can write tables.

    `{% from "table.html" import write_table %}` imports the writer of tables.
    """
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    return Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_printable_lines,
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("clarinet_tui.tables")]),
    )


def _printable_lines(value: Any) -> Any:
    """Remove control and bidirectional characters; line breaks, and finished HTML, stay."""
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return "\n".join(map(printable, value.split("\n")))


def write_csv(file: TextIO, names: list[str], rows: Iterable[dict[str, Any]]) -> int:
    """Write a header and the rows one by one; return the number of rows."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(map(_csv_cell, names))
    count = 0
    for count, row in enumerate(rows, 1):  # noqa: B007
        writer.writerow([_csv_cell(row.get(name)) for name in names])
    return count


def _csv_cell(value: Any) -> Any:
    """Return a text without control characters, but with its lines: names and messages come from journals."""
    return "\n".join(map(printable, value.splitlines())) if isinstance(value, str) else value
