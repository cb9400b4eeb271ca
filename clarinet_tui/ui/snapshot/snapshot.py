"""What a view requests from the feed, and what the feed has read for it. Immutable, for use by several threads.

These are structs of msgspec, because data classes take ten times as long to define, which the first paint waits for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, field

if TYPE_CHECKING:
    from clarinet_tui.analysis.board import Board
    from clarinet_tui.analysis.choices import Rule
    from clarinet_tui.analysis.figures.figure import FigureCurve
    from clarinet_tui.chart.curve import Curve
    from clarinet_tui.history.axes import AxisMap
    from clarinet_tui.history.queries import Alarm, RunRow
    from clarinet_tui.history.query_language import QueryProblem
    from clarinet_tui.runs.inspection_file import Inspection, Picture
    from clarinet_tui.ui.snapshot.comparison import ComparisonRequest, ComparisonSnapshot
    from clarinet_tui.ui.snapshot.references import ReferenceRequest, References
    from clarinet_tui.ui.snapshot.sweep import SweepSnapshot

PAGE_ROWS = 200
"""Rows of the table of runs that are read at once."""
DetailPart = Literal["about", "settings", "confusion", "inspection", "log", "hardware"]
"""Parts that can be requested separately: each reads a file or a table."""
MAX_LOG_LINES = 500
"""Maximum number of shown lines of a run's log."""


class CurvesRequest(Struct, frozen=True):
    """Curves of one run: in `width` columns, and a zoomed window in as many again."""

    run: str
    metrics: tuple[str, ...]
    width: int = 400
    window: tuple[float, float] | None = None
    """First and last iteration, when zoomed."""
    others: bool = False
    """Whether the run's metrics that the catalogue does not know, those of plug-ins, are read too."""


class BoardRequest(Struct, frozen=True):
    """The same options as those of `clarinet table`."""

    preset: str | None = None
    """None is the preset with most finished runs."""
    rule: Rule = "last"
    seeds: int = 5


class ViewRequest(Struct, frozen=True):
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
    groups: bool = False
    """Whether variants are shown instead of runs."""
    ids: bool = False
    """Whether the ids of all matching runs are read, to select them."""
    sweep: str = ""
    """The name of the sweep to read."""
    ended: int = 0
    """Maximum number of runs to read that ended last, whatever the query."""


class BoardSnapshot(Struct, frozen=True, eq=False):
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


class RunCurves(Struct, frozen=True, eq=False):
    """The curves of one run."""

    run: RunRow
    series: Mapping[str, Curve]
    axis_map: AxisMap
    stages: tuple[tuple[int, str], ...]
    """First iteration and name of each later stage."""
    request: CurvesRequest
    alarms: tuple[Alarm, ...] = ()


class RunGroup(Struct, frozen=True):
    """The runs of a variant; mean and std are those of `measured` seeds, and std needs two."""

    name: str
    task: str
    query: str
    """A query for its runs."""
    settings: Mapping[str, Any]
    """The settings in which it differs from other variants of its method and preset."""
    runs: int
    running: int
    measured: int
    mean: float | None
    std: float | None
    best: float | None
    sweep: str = ""
    """The sweep of the newest run that is part of one."""


class Listing(Struct, frozen=True):
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
    varied: tuple[str, ...] = ()
    """The settings that differ among the runs of the page."""
    ids: tuple[str, ...] = ()
    """The ids of all runs that match the query, in their order, if they were requested."""


class HistorySnapshot(Struct, frozen=True, eq=False):
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
    sweep: SweepSnapshot | None = None


class DetailRequest(Struct, frozen=True):
    run: str
    parts: frozenset[DetailPart] = frozenset()


class Setting(Struct, frozen=True):
    """One setting of the run; `default` is the preset's value, if the run has another one."""

    name: str
    value: str
    default: str | None = None
    description: str = ""


class Confusion(Struct, frozen=True, eq=False):
    """Target test images at the last evaluation: a row per true class, a column per predicted class."""

    counts: tuple[tuple[int, ...], ...]
    classes: tuple[str, ...]
    epoch: int
    curves: tuple[FigureCurve, ...] = ()
    """The accuracy of each class at all evaluations of its stage."""


class Failure(Struct, frozen=True):
    """Why a run failed: the message, the traceback, and the losses of its last iteration."""

    message: str
    frames: tuple[str, ...] = ()
    terms: tuple[tuple[str, float], ...] = ()


class LogExcerpt(Struct, frozen=True):
    """The last lines of a log; `first` is the line number of the first one."""

    first: int = 0
    text: tuple[str, ...] = ()


class RunDetails(Struct, frozen=True, eq=False):
    """The requested parts; the others are empty."""

    request: DetailRequest
    settings: tuple[Setting, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    """Name and text of each line."""
    confusion: Confusion | None = None
    inspection: Inspection | None = None
    failure: Failure | None = None
    log: LogExcerpt = field(default_factory=LogExcerpt)
    hardware: Mapping[str, Curve] = field(default_factory=dict)
    """What was sampled of the hardware, over the seconds since the first sample."""
    alarms: tuple[Alarm, ...] = ()
    problem: str = ""
    """An error message, if something could not be read."""


class TaskSamples(Struct, frozen=True):
    """Pictures of both domains, or why there are none."""

    task: str
    pictures: tuple[Picture, ...] = ()
    error: str = ""
    is_reading: bool = False


class InspectionProgress(Struct, frozen=True):
    """A step of an inspection that the app has started; the last one is its end."""

    run: str
    what: str = "Waiting"
    done: int = 0
    total: int = 0
    error: str = ""
    has_ended: bool = False
