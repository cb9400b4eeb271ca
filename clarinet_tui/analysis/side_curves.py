"""One metric of every run of a side along any axis.

Iteration metrics are read from rollups, so the amount read is bounded by the chart's width, not the run's length.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clarinet_tui.analysis.bands import Bands, interpolate_and_extend, make_bands
from clarinet_tui.analysis.choices import Axis
from clarinet_tui.analysis.comparison import Side
from clarinet_tui.analysis.run_records import RunRecord
from clarinet_tui.analysis.selection import last_stage
from clarinet_tui.analysis.training_cost import SHARED_AXES, TrainingCost, axis_value, metric_curve, training_cost
from clarinet_tui.history.curves import read_series
from clarinet_tui.history.database import Database
from clarinet_tui.history.queries import read_evaluations, read_events
from core.metrics import level_of

if TYPE_CHECKING:
    from clarinet_tui.analysis.bands import Floats, Points

POINTS = 300
"""Points of an interpolated mean curve."""


@dataclass(frozen=True, eq=False)
class SideCurves:
    """The mean curve of a side with its bands, and the curve of each run."""

    mean: Bands
    members: "tuple[Points, ...]"
    """Curves of all runs, also unfinished ones; empty if the mean is a single run."""


@dataclass(frozen=True, eq=False)
class RunEvaluations:
    """The evaluations of all stages of a run, and their cost."""

    rows: list[dict[str, Any]]
    cost: TrainingCost
    stage: str | None
    """The stage whose classifier is the method's result."""


def read_run_evaluations(db: Database, record: RunRecord) -> RunEvaluations:
    run = record.row.id
    cost = training_cost(record.config, read_events(db, run)) if record.config else TrainingCost((), None)
    return RunEvaluations(read_evaluations(db, run), cost, last_stage(record.row.method))


def run_curve(db: Database, run: str, evaluated: RunEvaluations, metric: str, axis: Axis, width: int) -> "Points":
    """Evaluation metrics are restricted to the last stage, because stage 1 trains another classifier."""
    if level_of(metric) == "evaluation":
        rows = [row for row in evaluated.rows if evaluated.stage is None or row["stage"] == evaluated.stage]
        return metric_curve(rows, metric, axis, evaluated.cost)
    series = read_series(db, run, metric, width=width)
    return _to_axis(series.x, evaluated, axis), series.mean


def make_side_curves(side: Side, curves: "dict[str, Points]", metric: str, axis: Axis) -> SideCurves:
    return average_curves(side, curves, exact=axis in SHARED_AXES and level_of(metric) == "evaluation")


def average_curves(side: Side, curves: "dict[str, Points]", *, exact: bool) -> SideCurves:
    """Average the counted runs, at their own x values if these are the same in all runs (`exact`)."""
    averaged = [curves[run] for run in side.counted if run in curves and len(curves[run][0])]
    members = [
        curve for run, curve in curves.items() if len(curve[0]) and (len(averaged) > 1 or run not in side.counted)
    ]
    return SideCurves(make_bands(averaged, points=None if exact or len(averaged) == 1 else POINTS), tuple(members))


def _to_axis(iterations: "Floats", evaluated: RunEvaluations, axis: Axis) -> "Floats":
    """Convert iterations to the axis by interpolating between the evaluations."""
    import numpy as np

    if axis == "iteration":
        return iterations
    rows = [*_stage_starts(evaluated.cost), *evaluated.rows]
    known = [(row["iteration"], at) for row in rows if (at := axis_value(row, axis, evaluated.cost)) is not None]
    known_x, known_y = np.array(sorted(known), dtype=np.float64).reshape(-1, 2).T
    return interpolate_and_extend(iterations, known_x, known_y)


def _stage_starts(cost: TrainingCost) -> Sequence[dict[str, Any]]:
    """Return a row for the start of the first stage that the run trained itself."""
    stages = cost.stages[-1:] if cost.shared else cost.stages[:1]
    rest = {"adaptation_epoch": None, "seconds": 0.0}
    return [{"stage": stage.name, "iteration": stage.iteration, "epoch": stage.epoch, **rest} for stage in stages]
