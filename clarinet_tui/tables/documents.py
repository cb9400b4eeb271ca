"""Tables for documents: Markdown, LaTeX with booktabs, and HTML. Each writer escapes all text."""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from clarinet_tui.tables.table import Cell, Table
from clarinet_tui.text import printable

if TYPE_CHECKING:
    from jinja2 import Environment

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
