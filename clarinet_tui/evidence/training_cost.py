"""What a run has cost by each of its evaluations: epochs, images, device time, a shared stage 1 included."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from core.config import RunConfig
from core.errors import InputError
from core.methods import find_method

if TYPE_CHECKING:
    from clarinet_tui.evidence.bands import Curve

Axis = Literal["epoch", "adaptation epoch", "samples", "device time", "iteration"]
AXES: tuple[Axis, ...] = get_args(Axis)
EXACT: frozenset[Axis] = frozenset({"epoch", "adaptation epoch", "iteration"})
"""Axes on which runs of one protocol have the same places; the others need a grid."""
Row = Mapping[str, Any]


@dataclass(frozen=True)
class StageCourse:
    """Where a stage begins, and how many images an iteration of it trains on."""

    name: str
    iteration: int
    epoch: int
    images: int
    adapts: bool
    """Whether target images come on top, once adaptation has begun."""


@dataclass(frozen=True)
class Shared:
    """A stage 1 that another run or an earlier one has paid for."""

    origin: str | None
    seconds: float | None
    """None where its cost was not written down."""


@dataclass(frozen=True)
class Course:
    stages: tuple[StageCourse, ...]
    shared: Shared | None

    def seconds(self, own: float) -> float:
        """Device seconds, with those of a stage 1 that was given."""
        return own + (self.shared.seconds or 0.0 if self.shared else 0.0)

    def samples(self, row: Row) -> float | None:
        """Images trained on by the end of an evaluated epoch, source and target."""
        total = 0.0
        for place, stage in enumerate(self.stages):
            if stage.name == row["stage"]:
                return total + _in_stage(stage, row)
            following = self.stages[place + 1].iteration if place + 1 < len(self.stages) else stage.iteration
            total += (following - stage.iteration) * stage.images
        return None


def _in_stage(stage: StageCourse, row: Row) -> float:
    """Target images count from the end of the warm-up on; every epoch of a stage has as many iterations."""
    iterations, epochs = row["iteration"] - stage.iteration, (row["epoch"] or 0) - stage.epoch
    adapting = iterations * (row["adaptation_epoch"] or 0) / epochs if stage.adapts and epochs > 0 else 0.0
    return float((iterations + adapting) * stage.images)


def course_of(config: RunConfig, events: Sequence[Row]) -> Course:
    """From what the run said of its stages, and its settings."""
    try:
        specs = find_method(config.method).stages
    except InputError:  # a plug-in that is not installed here
        return Course((), shared_stage1(events))
    begun = {said.get("stage"): said for said in events if said["event"] == "stage" and not said["superseded"]}
    stages = []
    for spec in specs:
        # A run that was given its labels never entered stage 1, but counts on from where that would have ended.
        said = begun.get(spec.name, {"iteration": 0, "epoch": 0} if spec.stage1 else None)
        if said is not None:
            images = config.stage1.batch_size if spec.stage1 else config.batch_size
            stages.append(StageCourse(spec.name, said["iteration"], said["epoch"], images, spec.adapts))
    return Course(tuple(stages), shared_stage1(events))


def shared_stage1(events: Sequence[Row]) -> Shared | None:
    """Where the run's pseudo-labels came from, if it was not the run itself that made them."""
    for said in reversed(events):
        if said["event"] == "pseudo-labels" and not said["superseded"]:
            if not said.get("given"):
                return None
            origin, seconds = said.get("origin"), said.get("origin_seconds")
            if isinstance(origin, str) and origin and isinstance(seconds, float | int):
                return Shared(origin, float(seconds))
            return Shared(None, None)  # given by hand: nobody knows what they cost
    return None


def curve(evaluations: Sequence[Row], metric: str, axis: Axis, course: Course) -> "Curve":
    """A metric along an axis; evaluations that have no place on it are left out, unknown values are gaps."""
    import numpy as np

    points = [(place_of(row, axis, course), row.get(metric)) for row in evaluations]
    known = [(place, np.nan if value is None else value) for place, value in points if place is not None]
    x, y = zip(*known, strict=True) if known else ((), ())
    return np.array(x, dtype=np.float64), np.array(y, dtype=np.float64)


def place_of(row: Row, axis: Axis, course: Course) -> float | None:
    """Where an evaluation lies on the axis, if it has a place there."""
    if axis == "samples":
        return course.samples(row)
    if axis == "device time":
        return None if row["seconds"] is None else course.seconds(row["seconds"])
    found: float | None = row[axis.replace(" ", "_")]
    return found
