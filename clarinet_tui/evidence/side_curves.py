"""One measure of every run of a side along any axis: evaluations point by point, iterations in columns.

However long a run is, what is read of it is bounded by the width of a chart.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clarinet_tui.evidence.bands import Bands, bands
from clarinet_tui.evidence.figures.figure_runs import POINTS, counted
from clarinet_tui.evidence.run_records import Record
from clarinet_tui.evidence.selection import last_stage
from clarinet_tui.evidence.sides import Side
from clarinet_tui.evidence.straight import straight
from clarinet_tui.evidence.training_cost import EXACT, Axis, Course, course_of, curve, place_of
from clarinet_tui.history.database import Database
from clarinet_tui.history.queries import evaluations, events, series
from clarinet_tui.history.schema import EVALUATION_METRICS

if TYPE_CHECKING:
    from clarinet_tui.evidence.bands import Curve, Floats


@dataclass(frozen=True, eq=False)
class SideCurves:
    """The mean of the runs that count, what bands can be drawn around it, and every run."""

    mean: Bands
    members: "tuple[Curve, ...]"
    """Of all runs, also of those that are not finished; empty where the mean is the only run itself."""


@dataclass(frozen=True, eq=False)
class Told:
    """What a run has said of its way: the evaluations of all stages, and what they cost."""

    rows: list[dict[str, Any]]
    course: Course
    stage: str | None
    """The stage whose classifier is the method's result."""


def told_by(db: Database, record: Record) -> Told:
    run = record.row.id
    course = course_of(record.config, events(db, run)) if record.config else Course((), None)
    return Told(evaluations(db, run), course, last_stage(record.row.method))


def curve_of(db: Database, run: str, told: Told, metric: str, axis: Axis, width: int) -> "Curve":
    """Accuracies are those of the last stage: stage 1 trains another classifier, which is thrown away."""
    if metric in EVALUATION_METRICS:
        rows = [row for row in told.rows if told.stage is None or row["stage"] == told.stage]
        return curve(rows, metric, axis, told.course)
    found = series(db, run, metric, width=width)
    return _along(found.x, told, axis), found.mean


def side_curves(side: Side, found: "dict[str, Curve]", metric: str, axis: Axis) -> SideCurves:
    """From the curves of the side's runs; the mean is of those that the side's numbers are of."""
    named = counted(side)
    drawn = [found[run] for run in named if run in found and len(found[run][0])]
    exact = axis in EXACT and metric in EVALUATION_METRICS
    members = [one for run, one in found.items() if len(one[0]) and (len(drawn) > 1 or run not in named)]
    return SideCurves(bands(drawn, points=None if exact or len(drawn) == 1 else POINTS), tuple(members))


def _along(iterations: "Floats", told: Told, axis: Axis) -> "Floats":
    """Iterations as places on the axis, by the evaluations and the beginning."""
    import numpy as np

    if axis == "iteration":
        return iterations
    rows = [*_beginnings(told.course), *told.rows]
    known = [(row["iteration"], place) for row in rows if (place := place_of(row, axis, told.course)) is not None]
    at, places = np.array(sorted(known), dtype=np.float64).reshape(-1, 2).T
    return straight(iterations, at, places)


def _beginnings(course: Course) -> Sequence[dict[str, Any]]:
    """Where the first stage that the run entered itself begins: an evaluation of nothing."""
    stages = course.stages[-1:] if course.shared else course.stages[:1]
    return [
        {"stage": one.name, "iteration": one.iteration, "epoch": one.epoch, "adaptation_epoch": None, "seconds": 0.0}
        for one in stages
    ]
