"""One metric of the runs of a side along any axis: a curve for each run, and their mean with a band.

Iteration metrics are read from rollups, so the amount read is bounded by the chart's width, not the run's length.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from clarinet_tui.analysis.choices import BandKind
from clarinet_tui.analysis.comparison import Side
from clarinet_tui.analysis.run_records import RunRecord
from clarinet_tui.analysis.selection import last_stage
from clarinet_tui.analysis.statistics import CONFIDENCE
from clarinet_tui.history.axes import Axis, AxisMap, make_axis_map
from clarinet_tui.history.curves import read_series
from clarinet_tui.history.database import Database
from clarinet_tui.history.queries import read_evaluations, read_events
from core.metrics import level_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from clarinet_tui.chart.curve import Curve, Floats

POINTS = 300
"""Points of an interpolated mean curve."""
BAND_DESCRIPTIONS: dict[BandKind, str] = {
    "std": "mean ± sample standard deviation over seeds",
    "interval": "the 95 % t interval of the mean",
    "range": "from the lowest to the highest seed",
}


@dataclass(frozen=True, eq=False)
class SeedBand:
    """The mean over runs at each x, and the spread around it.

    NaN where no run has a value (mean, range) or fewer than two have (std, t interval).
    """

    x: "Floats"
    n: "NDArray[np.int64]"
    """Number of runs with a value; where it changes, the mean may jump for that reason alone."""
    mean: "Floats"
    edges: "Mapping[BandKind, tuple[Floats, Floats]]"
    members: "tuple[Curve, ...]" = ()
    """Curves of all runs, also unfinished ones; empty if the mean is a single run."""


def make_seed_band(curves: "Sequence[Curve]", *, points: int | None = None) -> SeedBand:
    """Average at the x values of the runs, such as epochs, or interpolated at `points` evenly spaced ones.

    A run contributes only between its first and its last x, and not across a gap.
    """
    import numpy as np
    from scipy.special import stdtrit

    grid = np.unique(np.concatenate([np.empty(0), *(curve.x for curve in curves)]))
    if points is not None and grid.size:
        grid = np.linspace(grid[0], grid[-1], points)
    values = np.full((len(curves), grid.size), np.nan)
    for row, curve in zip(values, curves, strict=True):
        if points is None:
            row[np.searchsorted(grid, curve.x)] = curve.mean
        elif curve.x.size:
            row[:] = np.interp(grid, curve.x, curve.mean, left=np.nan, right=np.nan)
    known = np.isfinite(values)
    n = known.sum(axis=0)
    mean = np.where(n > 0, np.where(known, values, 0.0).sum(axis=0) / np.maximum(n, 1), np.nan)
    squares = np.where(known, values - mean, 0.0) ** 2
    std = np.where(n > 1, np.sqrt(squares.sum(axis=0) / np.maximum(n - 1, 1)), np.nan)
    minimum = np.where(known, values, np.inf).min(axis=0, initial=np.inf)
    maximum = np.where(known, values, -np.inf).max(axis=0, initial=-np.inf)
    margin = stdtrit(np.maximum(n - 1, 1), (1 + CONFIDENCE) / 2) * std / np.sqrt(np.maximum(n, 1))
    edges: dict[BandKind, tuple[Floats, Floats]] = {
        "std": (mean - std, mean + std),
        "interval": (mean - margin, mean + margin),
        "range": (np.where(n > 0, minimum, np.nan), np.where(n > 0, maximum, np.nan)),
    }
    return SeedBand(grid, n, mean, edges)


@dataclass(frozen=True, eq=False)
class RunEvaluations:
    """The evaluations of all stages of a run, and where they are on each axis."""

    rows: list[dict[str, Any]]
    axis_map: AxisMap
    stage: str | None
    """The stage whose classifier is the method's result."""


def read_run_evaluations(db: Database, record: RunRecord) -> RunEvaluations:
    run = record.row.id
    rows = read_evaluations(db, run)
    return RunEvaluations(rows, make_axis_map(rows, read_events(db, run), record.config), last_stage(record.row.method))


def run_curve(db: Database, run: str, evaluated: RunEvaluations, metric: str, axis: Axis, width: int) -> "Curve":
    """Evaluation metrics are restricted to the last stage, because stage 1 trains another classifier."""
    import numpy as np

    from clarinet_tui.chart.curve import Curve

    if level_of(metric) != "evaluation":
        curve = read_series(db, run, metric, width=width)
        return Curve.through(evaluated.axis_map.to_axis(axis, curve.x), curve.mean)
    x = evaluated.axis_map.values[axis][1:]
    in_stage = np.array([evaluated.stage in (None, row["stage"]) for row in evaluated.rows], dtype=np.bool_)
    values = np.array([row.get(metric) for row in evaluated.rows], dtype=np.float64)
    return Curve.through(x[in_stage], values[in_stage])


def average_runs(side: Side, curves: "Mapping[str, Curve]", *, exact: bool) -> SeedBand:
    """Average the counted runs, at their own x values if these are the same in all runs (`exact`).

    They are for evaluations of one protocol, along every axis but time.
    """
    averaged = [curves[run] for run in side.counted if run in curves and curves[run].x.size]
    members = tuple(
        curve for run, curve in curves.items() if curve.x.size and (len(averaged) > 1 or run not in side.counted)
    )
    return replace(make_seed_band(averaged, points=None if exact or len(averaged) == 1 else POINTS), members=members)
