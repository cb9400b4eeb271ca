"""The cost of a run up to each evaluation: epochs, images and device time, including a shared stage 1."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clarinet_tui.analysis.choices import Axis
from core.config import RunConfig
from core.errors import InputError
from core.methods import find_method

if TYPE_CHECKING:
    from clarinet_tui.analysis.bands import Points

SHARED_AXES: frozenset[Axis] = frozenset({"samples", "epoch", "adaptation epoch", "iteration"})
"""Axes on which runs of one protocol share their x values; the others need interpolation."""
Row = Mapping[str, Any]


@dataclass(frozen=True)
class StageCost:
    """Where a stage starts, and its images per iteration."""

    name: str
    iteration: int
    epoch: int
    images: int
    adapts: bool
    """Whether target images are used as well, once adaptation has started."""


@dataclass(frozen=True)
class SharedStage1:
    """A stage 1 that another run trained."""

    origin: str | None
    seconds: float | None
    """None if its cost is not recorded."""


@dataclass(frozen=True)
class TrainingCost:
    stages: tuple[StageCost, ...]
    shared: SharedStage1 | None

    def total_seconds(self, own: float) -> float:
        """Add the seconds of a shared stage 1 to the run's own."""
        return own + (self.shared.seconds or 0.0 if self.shared else 0.0)

    def samples(self, row: Row) -> float | None:
        """Source and target images trained on up to an evaluation."""
        total = 0.0
        for index, stage in enumerate(self.stages):
            if stage.name == row["stage"]:
                return total + _in_stage(stage, row)
            following = self.stages[index + 1].iteration if index + 1 < len(self.stages) else stage.iteration
            total += (following - stage.iteration) * stage.images
        return None


def _in_stage(stage: StageCost, row: Row) -> float:
    """Target images count after the warm-up; all epochs of a stage have the same number of iterations."""
    iterations, epochs = row["iteration"] - stage.iteration, (row["epoch"] or 0) - stage.epoch
    adapting = iterations * (row["adaptation_epoch"] or 0) / epochs if stage.adapts and epochs > 0 else 0.0
    return float((iterations + adapting) * stage.images)


def training_cost(config: RunConfig, events: Sequence[Row]) -> TrainingCost:
    """Derive the cost from the run's stage events and settings."""
    try:
        specs = find_method(config.method).stages
    except InputError:  # a plug-in that is not installed
        return TrainingCost((), find_shared_stage1(events))
    started = {event["stage"]: event for event in find_stages(events)}
    stages = []
    for spec in specs:
        # A run with a shared stage 1 skips that stage, but numbers its iterations as if it had trained it.
        event = started.get(spec.name, {"iteration": 0, "epoch": 0} if spec.stage1 else None)
        if event is not None:
            images = config.stage1.batch_size if spec.stage1 else config.batch_size
            stages.append(StageCost(spec.name, event["iteration"], event["epoch"], images, spec.adapts))
    return TrainingCost(tuple(stages), find_shared_stage1(events))


def find_stages(events: Sequence[Row]) -> list[Row]:
    """Return the events at which stages began, without those that lack their name or numbers in a damaged journal."""
    types = {"stage": str, "iteration": int, "epoch": int}
    stages = (event for event in events if event["event"] == "stage" and not event["superseded"])
    return [event for event in stages if all(isinstance(event.get(name), kind) for name, kind in types.items())]


def find_shared_stage1(events: Sequence[Row]) -> SharedStage1 | None:
    """Return the origin of the run's pseudo-labels, or None if the run trained stage 1 itself."""
    for event in reversed(events):
        if event["event"] == "pseudo-labels" and not event["superseded"]:
            if not event.get("given"):
                return None
            origin, seconds = event.get("origin"), event.get("origin_seconds")
            if isinstance(origin, str) and origin and isinstance(seconds, float | int):
                return SharedStage1(origin, float(seconds))
            return SharedStage1(None, None)  # supplied by the user: cost unknown
    return None


def metric_curve(evaluations: Sequence[Row], metric: str, axis: Axis, cost: TrainingCost) -> "Points":
    """Return a metric along an axis, without evaluations that have no x there; missing values are gaps."""
    import numpy as np

    points = [(axis_value(row, axis, cost), row.get(metric)) for row in evaluations]
    known = [(at, np.nan if value is None else value) for at, value in points if at is not None]
    x, y = zip(*known, strict=True) if known else ((), ())
    return np.array(x, dtype=np.float64), np.array(y, dtype=np.float64)


def axis_value(row: Row, axis: Axis, cost: TrainingCost) -> float | None:
    """Return the x of an evaluation, or None if it has none on this axis."""
    if axis == "samples":
        return cost.samples(row)
    if axis == "device time":
        return None if row["seconds"] is None else cost.total_seconds(row["seconds"])
    value: float | None = row[axis.replace(" ", "_")]
    return value
