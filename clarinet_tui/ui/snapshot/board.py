"""Which board is wanted, and the board as the feed saw it. Frozen, so that threads can hand it over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clarinet_tui.evidence.board import Board
    from clarinet_tui.evidence.selection import Rule


@dataclass(frozen=True)
class BoardWanted:
    """As the options of `clarinet table` say it."""

    preset: str | None = None
    """None is the one with most finished runs."""
    rule: Rule = "last"
    seeds: int = 5


@dataclass(frozen=True, eq=False)
class BoardSeen:
    """One look. While runs are still being read, the board is the last one, or that of no runs."""

    wanted: BoardWanted
    board: Board
    presets: Mapping[str, int] = field(default_factory=dict)
    """How many runs of each the history has."""
    read: int = 0
    runs: int = 0

    @property
    def whole(self) -> bool:
        """Whether every run was read."""
        return self.read == self.runs
