"""What a view requests from the feed, and what the feed has read for it. Immutable, for use by several threads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clarinet_tui.analysis.board import Board
    from clarinet_tui.analysis.choices import Rule
    from clarinet_tui.history.alarms import Alarm
    from clarinet_tui.history.curves import Series
    from clarinet_tui.history.queries import RunRow
    from clarinet_tui.history.query_language import QueryProblem
    from clarinet_tui.history.run_groups import GroupField, RunGroup
    from clarinet_tui.ui.snapshot.comparison import ComparisonRequest, ComparisonSnapshot
    from clarinet_tui.ui.snapshot.references import ReferenceRequest, References
    from clarinet_tui.ui.snapshot.run_detail import DetailRequest, RunDetails
    from clarinet_tui.ui.snapshot.x_axes import AxisMap


PAGE_ROWS = 200
"""Rows of the table of runs that are read at once."""


@dataclass(frozen=True)
class CurvesRequest:
    """Curves of one run: in `width` columns, and a zoomed window in as many again."""

    run: str
    metrics: tuple[str, ...]
    width: int = 400
    window: tuple[float, float] | None = None
    """First and last iteration, when zoomed."""


@dataclass(frozen=True)
class BoardRequest:
    """The same options as those of `clarinet table`."""

    preset: str | None = None
    """None is the preset with most finished runs."""
    rule: Rule = "last"
    seeds: int = 5


@dataclass(frozen=True)
class ViewRequest:
    """What the current view needs from the history."""

    query: str = ""
    sort: str = "created"
    descending: bool = True
    offset: int = 0
    limit: int = PAGE_ROWS
    curves: tuple[CurvesRequest, ...] = ()
    detail: DetailRequest | None = None
    comparison: ComparisonRequest | None = None
    trends: bool = False
    """Whether running runs have a sparkline of their target accuracy."""
    query_values: bool = False
    """Whether a query is being typed, and its completion needs the values of its fields."""
    board: BoardRequest | None = None
    references: ReferenceRequest | None = None
    groups: tuple[GroupField, ...] = ()
    """The fields that the listed runs are grouped by."""
    ended: int = 0
    """Maximum number of runs to read that ended last, whatever the query."""


@dataclass(frozen=True, eq=False)
class BoardSnapshot:
    """The board. While runs are still being read it is the last one, or that of no runs."""

    request: BoardRequest
    board: Board
    presets: Mapping[str, int] = field(default_factory=dict)
    """Number of runs of each preset in the history."""
    read: int = 0
    runs: int = 0

    @property
    def is_complete(self) -> bool:
        """Whether every run was read."""
        return self.read == self.runs


@dataclass(frozen=True, eq=False)
class RunCurves:
    """The curves of one run."""

    run: RunRow
    series: Mapping[str, Series]
    axis_map: AxisMap
    stages: tuple[tuple[int, str], ...]
    """First iteration and name of each later stage."""
    request: CurvesRequest
    alarms: tuple[Alarm, ...] = ()


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
    groups: tuple[RunGroup, ...] = ()
    ended: tuple[RunRow, ...] = ()
    """The runs that ended last, the newest first."""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """What was read for one request."""

    listing: Listing = field(default_factory=Listing)
    curves: Mapping[str, RunCurves] = field(default_factory=dict)
    detail: RunDetails | None = None
    comparison: ComparisonSnapshot | None = None
    query_values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    problem: str = ""
    """An error message, if something could not be read."""
    is_ingested: bool = True
    """Whether all journals were ingested once: only then is an empty history really empty."""
    board: BoardSnapshot | None = None
    references: References | None = None
