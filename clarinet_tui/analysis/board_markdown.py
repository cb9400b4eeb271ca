"""The board as Markdown, in the layout of the paper's tables."""

import re

from clarinet_tui.analysis.board import Board, MethodTable
from clarinet_tui.analysis.board_table import (
    MIXED_NOTE,
    BoardRow,
    RowValue,
    board_rows,
    excluded_notes,
    rule_rows,
    run_notes,
)
from clarinet_tui.analysis.published import method_title
from clarinet_tui.analysis.selection import RULE_HEADINGS, RULE_NOTES, RULE_ORDER, RULES_TITLE
from clarinet_tui.text import format_task, printable

DECIMALS = 3


def to_markdown(board: Board) -> str:
    """Return the tables, then the notes and the runs of each number."""
    tables = [_table(board, table) for table in board.tables]
    sections = [*tables, _rules(board), _notes(board), _runs(board)]
    return "\n\n".join(section for section in sections if section) + "\n"


def _table(board: Board, table: MethodTable) -> str:
    header = ["Task", *(_escape(method_title(method)) for method in table.methods)]
    rows = [header, ["---", *["---:"] * len(table.methods)], *(_row(row) for row in board_rows(board, table))]
    return _format_table(f"**{table.title}**{' (oracle selection)' if board.uses_oracle else ''}", rows)


def _rules(board: Board) -> str:
    rows = [
        [_escape(format_task(task)), _escape(method_title(method)), *texts]
        for task, method, *texts in rule_rows(board, DECIMALS)
    ]
    header = ["Task", "Method", *(RULE_HEADINGS[rule] for rule in RULE_ORDER)]
    alignment = ["---", "---", *["---:"] * len(RULE_ORDER)]
    return _format_table(f"**{RULES_TITLE}**", [header, alignment, *rows]) if rows else ""


def _format_table(title: str, rows: list[list[str]]) -> str:
    return "\n".join([title, "", *(f"| {' | '.join(row)} |" for row in rows)])


def _row(row: BoardRow) -> list[str]:
    measured = row.kind == "measured"
    label = _escape(format_task(row.label)) + ("" if measured else ", published")
    return [label, *(_value(value, measured) for value in row.values)]


def _value(value: RowValue, measured: bool) -> str:
    if value.mean is None:
        return "–" if measured else ""
    emphasis = "*" if not measured else "**" if value.best else ""
    text = f"{emphasis}{value.text(DECIMALS)}{emphasis}"
    return text + ("†" if value.mixed else "") + (f" ({value.count})" if value.count else "")


def _notes(board: Board) -> str:
    notes = [*board.notes, f"Mean ± sample standard deviation over seeds; a complete cell has {board.seeds} seeds."]
    if any(cell.mixed for cell in board.cells.values()):
        notes.append(f"† {MIXED_NOTE}")
    if any(cell.rules for cell in board.cells.values()):
        notes += [f"{note}." for note in RULE_NOTES]
    return "\n".join(f"- {_escape(note)}" for note in [*notes, *excluded_notes(board)])


def _runs(board: Board) -> str:
    """List the counted runs in a comment, so that every number can be traced."""
    notes = [printable(note).replace("--", "- -") for note in run_notes(board)]
    return "\n".join(["<!-- runs", *notes, "-->"]) if notes else ""


def _escape(text: str) -> str:
    return re.sub(r"([\\|*_`\[\]<>])", r"\\\1", printable(text))
