"""The board laid out for the width that it has: pieces of text with their roles, table by table, row by row."""

from __future__ import annotations

from dataclasses import dataclass

Piece = tuple[str, str]
Pieces = tuple[Piece, ...]


@dataclass(frozen=True)
class SheetRow:
    """A task, or the average, which the cursor passes over."""

    task: str | None
    lines: tuple[tuple[Pieces, ...], ...]
    """Each has a label, and then a place for each method."""


@dataclass(frozen=True)
class SheetTable:
    title: Pieces
    methods: tuple[str, ...]
    head: tuple[Pieces, ...]
    """Above the label, and above each method."""
    rows: tuple[SheetRow, ...]


@dataclass(frozen=True)
class Sheet:
    tables: tuple[SheetTable, ...] = ()
    label: int = 5
    """Columns of the terminal for what stands left of all methods."""
    column: int = 15
    """Columns of the terminal for each method."""
    gap: int = 0
    """Empty lines between tasks."""


@dataclass(frozen=True)
class Spot:
    """One cell: which table, which of its rows, which of its methods."""

    table: int = 0
    row: int = 0
    column: int = 0
