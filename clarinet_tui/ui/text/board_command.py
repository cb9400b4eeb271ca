"""The board in other words: as a command line, as a query of its runs, as the name of a file."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from clarinet_tui.evidence.published import SEEDS

if TYPE_CHECKING:
    from clarinet_tui.evidence.board import Board


def table_command(board: Board) -> str:
    """What shows the same numbers without the app."""
    words = ["clarinet", "table", *(["--preset", board.preset] if board.preset else [])]
    words += ["--select", board.rule] if board.rule != "last" else []
    words += ["--seeds", str(board.seeds)] if board.seeds != SEEDS else []
    return shlex.join(words)


def query_of(method: str, task: str, preset: str | None) -> str:
    """Every run that was looked at for a cell, whether it counts or not."""
    fields = {"method": method, "task": task, "preset": preset}
    return " ".join(f"{name}:{_quoted(value)}" for name, value in fields.items() if value)


def file_name(board: Board) -> str:
    selected = "" if board.rule == "last" else f"-{board.rule}"
    return f"board-{board.preset or 'all'}{selected}.tex"


def _quoted(value: str) -> str:
    """As the query language reads it."""
    if not any(sign.isspace() or sign in '()",' for sign in value):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
