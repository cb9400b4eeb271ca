"""The board as LaTeX with booktabs. All text is escaped; characters that plain LaTeX lacks become code points."""

import unicodedata
from collections.abc import Iterator, Sequence

from clarinet_tui.analysis.board import Board, MethodTable
from clarinet_tui.analysis.board_table import (
    AVERAGE,
    MIXED_NOTE,
    BoardRow,
    RowValue,
    board_rows,
    excluded_notes,
    rule_rows,
    run_notes,
)
from clarinet_tui.analysis.published import LATEX, method_title
from clarinet_tui.analysis.selection import RULE_HEADINGS, RULE_NOTES, RULE_ORDER, RULES_TITLE
from clarinet_tui.text import format_task, printable
from core.tasks import DOMAINS

DECIMALS = 3
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
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
} | {character: f"\\{character}" for character in "&%$#_{}"}
CHARACTERS |= {character: f"{{{character}}}" for character in "[]*"}
"""The last three would be read as arguments of the line end before them."""
PREAMBLE = r"""\documentclass{article}
\usepackage[T1]{fontenc}
\IfFileExists{lmodern.sty}{\usepackage{lmodern}}{}
\usepackage[margin=2cm]{geometry}
\usepackage{booktabs}
\begin{document}
"""
END = "\\end{document}\n"


def to_latex(board: Board, *, standalone: bool = False) -> str:
    """Return a table for each part of the board; `standalone` makes a document that compiles by itself."""
    body = _comments(board) + "\n".join([*(_table(board, table) for table in board.tables), *_rules(board)])
    return f"{PREAMBLE}{body}{END}" if standalone else body


def _comments(board: Board) -> str:
    """Comments with the query, the counted runs and the excluded runs."""
    lines = ["needs \\usepackage{booktabs}", f"query: {board.query or 'all runs'}; preset: {board.preset or 'all'}"]
    lines += [f"runs: {note}" for note in run_notes(board)]
    return "".join(f"% {printable(line)}\n" for line in [*lines, *excluded_notes(board)])


def _table(board: Board, table: MethodTable) -> str:
    rows = board_rows(board, table)
    return _format_table(
        _caption(board, table),
        "l" + "r" * len(table.methods),
        ["Task", *map(_title, table.methods)],
        [[_row(row) for row in rows if row.label != AVERAGE], [_row(row) for row in rows if row.label == AVERAGE]],
        _table_notes(board, table),
    )


def _rules(board: Board) -> Iterator[str]:
    """A table of the same runs under each selection rule."""
    rows = [
        " & ".join([_label(task), _title(method), *texts]).replace("–", "--").replace("(-", "($-$") + r" \\"
        for task, method, *texts in rule_rows(board, DECIMALS, r"$\pm$")
    ]
    if rows:
        caption = escape_latex(f"{RULES_TITLE}. Target accuracy in percent; {'; '.join(RULE_NOTES)}.")
        header = ["Task", "Method", *(RULE_HEADINGS[rule] for rule in RULE_ORDER)]
        yield _format_table(caption, "ll" + "r" * len(RULE_ORDER), header, [rows])


def _format_table(
    caption: str, columns: str, header: Sequence[str], blocks: Sequence[Sequence[str]], notes: Sequence[str] = ()
) -> str:
    return "\n".join(
        [
            r"\begin{table}[t]",
            r"\centering\small\setlength{\tabcolsep}{4pt}",
            rf"\caption{{{caption}}}",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            " & ".join(header) + r" \\",
            *(line for rows in blocks if rows for line in (r"\midrule", *rows)),
            r"\bottomrule",
            r"\end{tabular}",
            *notes,
            r"\end{table}",
            "",
        ]
    )


def _title(method: str) -> str:
    return LATEX.get(method, escape_latex(method_title(method)))


def _caption(board: Board, table: MethodTable) -> str:
    text = f"{table.title}: target accuracy in percent, mean ± standard deviation over {board.seeds} seeds"
    return escape_latex(f"{text} (or the number in brackets). {' '.join(board.conditions)}")


def _table_notes(board: Board, table: MethodTable) -> list[str]:
    """Notes on the table, one paragraph each."""
    mixed = any(cell.mixed for (method, _), cell in board.cells.items() if method in table.methods)
    notes = [rf"$^\dagger$ {MIXED_NOTE}"] if mixed else []
    notes += [escape_latex(remark) for remark in board.remarks(table.methods)]
    if not notes:
        return []
    text = "\\par\n".join(notes)
    return [r"\par\smallskip\begin{minipage}{\linewidth}\footnotesize\raggedright", text, r"\end{minipage}"]


def _row(row: BoardRow) -> str:
    measured = row.kind == "measured"
    label = _label(row.label) if measured else r"\quad published"
    return " & ".join([label, *(_value(value, measured) for value in row.values)]) + r" \\"


def _label(label: str) -> str:
    source, arrow, target = label.partition("->")
    if arrow and source in DOMAINS and target in DOMAINS:
        return rf"${source} \rightarrow {target}$"
    return escape_latex(format_task(label))


def _value(value: RowValue, measured: bool) -> str:
    if value.mean is None:
        return "--" if measured else ""
    text = value.text(DECIMALS, r"$\pm$")
    if value.best or not measured:
        text = rf"\{'textbf' if measured else 'textit'}{{{text}}}"
    return text + (r"$^\dagger$" if value.mixed else "") + (f" ({value.count})" if value.count else "")


def escape_latex(text: str) -> str:
    """Escape every character that LaTeX would interpret or does not have."""
    return "".join(_escape_character(character) for character in printable(text))


def _escape_character(character: str) -> str:
    if character in CHARACTERS:
        return CHARACTERS[character]
    # Every LaTeX has accented Latin letters; other characters may be missing.
    if unicodedata.normalize("NFD", character)[0].isascii() and ord(character) < 0x100:
        return character
    return rf"\texttt{{U+{ord(character):04X}}}"
