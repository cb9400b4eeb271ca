"""What the screens want to see, and what the feed saw: frozen, so that threads can hand them over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clarinet_tui.history.queries import RunRow, Series
    from clarinet_tui.ui.snapshot.board import BoardSeen, BoardWanted
    from clarinet_tui.ui.snapshot.comparison import Compared, ComparisonWanted
    from clarinet_tui.ui.snapshot.references import Ghost, GhostWanted
    from clarinet_tui.ui.snapshot.run_detail import Detail, DetailWanted
    from clarinet_tui.ui.snapshot.x_axes import Pace

PAGE = 200
"""Rows of the history that are read at once."""


@dataclass(frozen=True)
class CurvesWanted:
    """Curves of one run: everything in `width` columns, and the window, if there is one, in as many again."""

    run: str
    metrics: tuple[str, ...]
    width: int = 400
    window: tuple[float, float] | None = None
    """Iterations, when zoomed."""


@dataclass(frozen=True)
class Wanted:
    """What the visible screen needs: a page, curves of some runs, papers of one, a comparison, the board of all."""

    query: str = ""
    sort: str = "created"
    descending: bool = True
    offset: int = 0
    limit: int = PAGE
    curves: tuple[CurvesWanted, ...] = ()
    detail: DetailWanted | None = None
    comparison: ComparisonWanted | None = None
    trends: bool = False
    """Whether running runs are shown with how their target accuracy went."""
    words: bool = False
    """Whether a query is being typed, for which the history's words are offered."""
    board: BoardWanted | None = None
    ghost: GhostWanted | None = None


@dataclass(frozen=True)
class QueryProblem:
    """Why the filter cannot be understood, and where."""

    message: str
    position: int


@dataclass(frozen=True)
class Listing:
    """A page of the history. `total` counts what matches the query, `all_runs` everything."""

    rows: tuple[RunRow, ...] = ()
    offset: int = 0
    total: int = 0
    all_runs: int = 0
    running: int = 0
    query: str = ""
    problem: QueryProblem | None = None
    trends: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Target accuracies of running runs, oldest first."""


@dataclass(frozen=True, eq=False)
class Curves:
    """The curves of one run, and how its iterations relate to epochs and time."""

    run: RunRow
    series: Mapping[str, Series]
    pace: Pace
    stages: tuple[tuple[int, str], ...]
    """Where each later stage begins: iteration and name."""
    wanted: CurvesWanted


@dataclass(frozen=True, eq=False)
class Snapshot:
    """One look at the history."""

    listing: Listing = field(default_factory=Listing)
    curves: Mapping[str, Curves] = field(default_factory=dict)
    detail: Detail | None = None
    comparison: Compared | None = None
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    problem: str = ""
    """A sentence for the user, if something could not be read."""
    settled: bool = True
    """Whether all that runs have written was ingested once: only then is an empty history really empty."""
    board: BoardSeen | None = None
    ghost: Ghost | None = None
