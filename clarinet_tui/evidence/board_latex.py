"""The board as LaTeX with booktabs. All text is escaped; signs that plain LaTeX lacks are written as code points."""

import unicodedata
from collections.abc import Iterator

from clarinet_tui.evidence.board import Board, Part
from clarinet_tui.evidence.board_rows import AVERAGE, Entry, Line, lines, short_name
from clarinet_tui.evidence.published import LATEX, title
from clarinet_tui.evidence.selections import HEADINGS, MEANINGS, ORDER, TITLE, texts
from clarinet_tui.text import printable
from core.tasks import DOMAINS

DECIMALS = 3
SIGNS = {
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
} | {sign: f"\\{sign}" for sign in "&%$#_{}"}
SIGNS |= {sign: f"{{{sign}}}" for sign in "[]*"}
"""The last three would be arguments of a line's end before them."""
BEFORE = r"""\documentclass{article}
\usepackage[T1]{fontenc}
\IfFileExists{lmodern.sty}{\usepackage{lmodern}}{}
\usepackage[margin=2cm]{geometry}
\usepackage{booktabs}
\begin{document}
"""
AFTER = "\\end{document}\n"


def to_latex(board: Board, *, standalone: bool = False) -> str:
    """A table for each part; `standalone` makes it a document that compiles alone."""
    body = _comments(board) + "\n".join([*(_part(board, part) for part in board.parts), *_selections(board)])
    return f"{BEFORE}{body}{AFTER}" if standalone else body


def _comments(board: Board) -> str:
    """Where the numbers come from; nothing here is typeset."""
    said = ["needs \\usepackage{booktabs}", f"query: {board.query or 'all runs'}; preset: {board.preset or 'all'}"]
    for (method, task), cell in board.cells.items():
        if cell.figures:
            said.append(f"runs: {task} {method}: {' '.join(cell.runs)}")
    said += [f"left out: {place}{left.reason}: {' '.join(left.runs)}" for place, left in board.not_counted]
    return "".join(f"% {printable(line)}\n" for line in said)


def _part(board: Board, part: Part) -> str:
    columns = "l" + "r" * len(part.methods)
    header = ["Task", *map(_title, part.methods)]
    written = lines(board, part)
    rows = [_row(line) for line in written if line.label != AVERAGE]
    averages = [_row(line) for line in written if line.label == AVERAGE]
    return "\n".join(
        [
            r"\begin{table}[t]",
            r"\centering\small\setlength{\tabcolsep}{4pt}",
            rf"\caption{{{_caption(board, part)}}}",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            " & ".join(header) + r" \\",
            *([r"\midrule", *rows] if rows else []),
            *([r"\midrule", *averages] if averages else []),
            r"\bottomrule",
            r"\end{tabular}",
            *_below(board, part),
            r"\end{table}",
            "",
        ]
    )


def _selections(board: Board) -> Iterator[str]:
    """What each rule reports of the same runs, in a table of its own."""
    cells = [cell for cell in board.cells.values() if cell.selections]
    if not cells:
        return
    rows = [[_label(cell.task), _title(cell.method), *texts(cell.selections, DECIMALS, r"$\pm$")] for cell in cells]
    caption = escaped(f"{TITLE}. Target accuracy in percent; {'; '.join(MEANINGS)}.")
    yield "\n".join(
        [
            r"\begin{table}[t]",
            r"\centering\small\setlength{\tabcolsep}{4pt}",
            rf"\caption{{{caption}}}",
            rf"\begin{{tabular}}{{ll{'r' * len(ORDER)}}}",
            r"\toprule",
            " & ".join(["Task", "Method", *(HEADINGS[rule] for rule in ORDER)]) + r" \\",
            r"\midrule",
            *(" & ".join(row).replace("–", "--").replace("(-", "($-$") + r" \\" for row in rows),
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def _title(method: str) -> str:
    return LATEX.get(method, escaped(title(method)))


def _caption(board: Board, part: Part) -> str:
    words = f"{part.title}: target accuracy in percent, mean ± standard deviation over {board.seeds} seeds"
    return escaped(f"{words} (or as many as stand in brackets). {' '.join(board.conditions)}")


def _below(board: Board, part: Part) -> list[str]:
    """What must be said with these numbers, each sentence on a line of its own."""
    mixed = any(cell.mixed for (method, _), cell in board.cells.items() if method in part.methods)
    told = [r"$^\dagger$ averages runs that are not alike."] if mixed else []
    told += [escaped(remark) for remark in board.remarks(part.methods)]
    if not told:
        return []
    said = "\\par\n".join(told)
    return [r"\par\smallskip\begin{minipage}{\linewidth}\footnotesize\raggedright", said, r"\end{minipage}"]


def _row(line: Line) -> str:
    measured = line.kind == "measured"
    label = _label(line.label) if measured else r"\quad published"
    return " & ".join([label, *(_entry(entry, measured) for entry in line.entries)]) + r" \\"


def _label(label: str) -> str:
    source, arrow, target = label.partition("->")
    if arrow and source in DOMAINS and target in DOMAINS:
        return rf"${source} \rightarrow {target}$"
    return escaped(short_name(label))


def _entry(entry: Entry, measured: bool) -> str:
    if entry.mean is None:
        return "--" if measured else ""
    text = entry.text(DECIMALS, r"$\pm$")
    if entry.best or not measured:
        text = rf"\{'textbf' if measured else 'textit'}{{{text}}}"
    return text + (r"$^\dagger$" if entry.mixed else "") + (f" ({entry.count})" if entry.count else "")


def escaped(text: str) -> str:
    """As text of a document: every sign that LaTeX would act upon, or not know, is written out."""
    return "".join(_sign(sign) for sign in printable(text))


def _sign(sign: str) -> str:
    if sign in SIGNS:
        return SIGNS[sign]
    # Accented Latin letters are known to every LaTeX; of the rest one cannot be sure.
    if unicodedata.normalize("NFD", sign)[0].isascii() and ord(sign) < 0x100:
        return sign
    return rf"\texttt{{U+{ord(sign):04X}}}"
