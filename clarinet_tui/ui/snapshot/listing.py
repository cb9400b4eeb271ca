"""One page of the history, as shown in the table of runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clarinet_tui.history.queries import RunRow

PAGE_ROWS = 200
"""Rows read at once."""


@dataclass(frozen=True)
class QueryProblem:
    """What is wrong with a query, and at which character."""

    message: str
    position: int


@dataclass(frozen=True)
class Listing:
    """A page of runs. `total` counts the runs that match the query, `all_runs` all runs of the history."""

    rows: tuple[RunRow, ...] = ()
    offset: int = 0
    total: int = 0
    all_runs: int = 0
    running: int = 0
    query: str = ""
    problem: QueryProblem | None = None
    trends: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Target accuracies of running runs, oldest first."""
