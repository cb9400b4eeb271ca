"""The board as Markdown, in the shape of the paper's tables."""

import re

from clarinet_tui.evidence.board import Board, Part
from clarinet_tui.evidence.lines import Entry, Line, lines, short_name
from clarinet_tui.evidence.published import title
from clarinet_tui.text import printable

DECIMALS = 3


def to_markdown(board: Board) -> str:
    """A table for each part that has something to tell, then notes and the runs behind the numbers."""
    parts = [_part(board, part) for part in board.parts]
    return "\n\n".join([*parts, _notes(board), _runs(board)]).strip() + "\n"


def _part(board: Board, part: Part) -> str:
    header = ["Task", *(_escaped(title(method)) for method in part.methods)]
    rows = [header, ["---", *["---:"] * len(part.methods)], *(_row(line) for line in lines(board, part))]
    oracle = " (oracle selection)" if board.oracle else ""
    return "\n".join([f"**{part.title}**{oracle}", "", *(f"| {' | '.join(row)} |" for row in rows)])


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
    return "\n".join(f"- {_escaped(note)}" for note in notes)


def _runs(board: Board) -> str:
    """A comment, so that every number can be traced."""
    told = [f"{cell.task} {method}: {' '.join(cell.runs)}" for (method, _), cell in board.cells.items() if cell.figures]
    if not told:
        return ""
    return "\n".join(["<!-- runs", *(printable(line).replace("--", "- -") for line in told), "-->"])


def _escaped(text: str) -> str:
    return re.sub(r"([\\|*_`\[\]<>])", r"\\\1", printable(text))
