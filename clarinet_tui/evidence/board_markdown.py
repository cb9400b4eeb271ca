"""The board as Markdown, in the shape of the paper's tables."""

import re

from clarinet_tui.evidence.board import Board, Part
from clarinet_tui.evidence.board_rows import Entry, Line, lines, short_name
from clarinet_tui.evidence.published import title
from clarinet_tui.evidence.selections import HEADINGS, MEANINGS, ORDER, TITLE, texts
from clarinet_tui.text import printable

DECIMALS = 3


def to_markdown(board: Board) -> str:
    """A table for each part that has something to tell, then notes and the runs behind the numbers."""
    parts = [_part(board, part) for part in board.parts]
    told = [*parts, _selections(board), _notes(board), _runs(board)]
    return "\n\n".join(text for text in told if text) + "\n"


def _part(board: Board, part: Part) -> str:
    header = ["Task", *(_escaped(title(method)) for method in part.methods)]
    rows = [header, ["---", *["---:"] * len(part.methods)], *(_row(line) for line in lines(board, part))]
    oracle = " (oracle selection)" if board.oracle else ""
    return "\n".join([f"**{part.title}**{oracle}", "", *(f"| {' | '.join(row)} |" for row in rows)])


def _selections(board: Board) -> str:
    cells = [cell for cell in board.cells.values() if cell.selections]
    if not cells:
        return ""
    rows = [["Task", "Method", *(HEADINGS[rule] for rule in ORDER)], ["---", "---", *["---:"] * len(ORDER)]]
    for cell in cells:
        rows.append([_escaped(short_name(cell.task)), _escaped(title(cell.method)), *texts(cell.selections, DECIMALS)])
    return "\n".join([f"**{TITLE}**", "", *(f"| {' | '.join(row)} |" for row in rows)])


def _row(line: Line) -> list[str]:
    label = _escaped(short_name(line.label))
    if line.kind == "published":
        return [f"{label}, published", *(_published(entry) for entry in line.entries)]
    return [label, *(_entry(entry) for entry in line.entries)]


def _entry(entry: Entry) -> str:
    if entry.mean is None:
        return "–"
    text = entry.text(DECIMALS)
    text = f"**{text}**" if entry.best else text
    return text + ("†" if entry.mixed else "") + (f" ({entry.count})" if entry.count else "")


def _published(entry: Entry) -> str:
    count = f" ({entry.count})" if entry.count else ""
    return f"*{entry.text(DECIMALS)}*{count}" if entry.mean is not None else ""


def _notes(board: Board) -> str:
    notes = [*board.notes, f"Mean ± sample standard deviation over seeds; {board.seeds} seeds make a cell complete."]
    if any(cell.mixed for cell in board.cells.values()):
        notes.append("† averages runs that are not alike.")
    if any(cell.selections for cell in board.cells.values()):
        notes += [f"{meaning}." for meaning in MEANINGS]
    notes += [f"left out: {place}{left.reason} ({' '.join(left.runs)})" for place, left in board.not_counted]
    return "\n".join(f"- {_escaped(note)}" for note in notes)


def _runs(board: Board) -> str:
    """A comment, so that every number can be traced."""
    told = [f"{cell.task} {method}: {' '.join(cell.runs)}" for (method, _), cell in board.cells.items() if cell.figures]
    if not told:
        return ""
    return "\n".join(["<!-- runs", *(printable(line).replace("--", "- -") for line in told), "-->"])


def _escaped(text: str) -> str:
    return re.sub(r"([\\|*_`\[\]<>])", r"\\\1", printable(text))
