"""The x axes of curves: what a run has cost up to each evaluation, in iterations, images, epochs and device time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from clarinet_tui.chart.curve import Floats
    from core.config import RunConfig

Axis = Literal["iteration", "samples", "epoch", "adaptation-epoch", "time"]
AXES: dict[Axis, str] = {
    "iteration": "iteration",
    "samples": "samples",
    "epoch": "epoch",
    "adaptation-epoch": "adaptation epoch",
    "time": "device time",
}
"""All axes with their titles. Runs of one protocol share their x values on each of them but time."""
Row = Mapping[str, Any]


def find_axis(name: str, default: Axis) -> Axis:
    """Return the axis with this name or title."""
    return next((axis for axis, title in AXES.items() if name in (axis, title)), default)


@dataclass(frozen=True, eq=False)
class AxisMap:
    """Where the start of a run and each of its evaluations are on every axis; NaN where they are nowhere."""

    values: "Mapping[Axis, Floats]"

    def to_axis(self, axis: Axis, iterations: "Floats") -> "Floats":
        """Map iterations to another axis; NaN where they have no value on it.

        Values are interpolated linearly between evaluations, and extended at both ends: by at most one step before the
        first.
        """
        import numpy as np

        if axis == "iteration":
            return iterations
        usable = np.isfinite(self.values[axis])
        order = np.argsort(self.values["iteration"][usable], kind="stable")
        x, y = (self.values[name][usable][order] for name in ("iteration", axis))
        if x.size < 2:
            return np.full(iterations.shape, np.nan)
        slopes = np.diff(y) / np.maximum(np.diff(x), 1.0)
        result = np.interp(iterations, x, y)
        result = np.where(iterations > x[-1], y[-1] + (iterations - x[-1]) * slopes[-1], result)
        result = np.where(iterations < x[0], y[0] + (iterations - x[0]) * slopes[0], result)
        return np.where(iterations < x[0] - (x[1] - x[0]), np.nan, result)

    def to_iteration(self, axis: Axis, value: float) -> float:
        """Return the iteration at a value of the axis."""
        import numpy as np

        if axis == "iteration":
            return value
        iterations = np.r_[self.values["iteration"], 2 * self.values["iteration"][-1]]
        values = self.to_axis(axis, iterations)
        usable = np.isfinite(values)
        return float(np.interp(value, values[usable], iterations[usable])) if usable.sum() > 1 else value


def make_axis_map(evaluations: Sequence[Row], events: Sequence[Row] = (), config: "RunConfig | None" = None) -> AxisMap:
    """Make the map from a run's evaluations, in order, and its events; images are counted only with its settings.

    A run with given pseudo-labels begins where stage 1 would have ended; its time includes that of a shared stage 1.
    """
    import numpy as np

    first = next(iter(find_stages(events)), {"stage": None, "iteration": 0, "epoch": 0})
    rows = [{**first, "adaptation_epoch": None, "seconds": 0.0}, *evaluations]
    stages = _stage_costs(config, events) if config else []
    shared = find_shared_stage1(events)

    def column(name: str) -> "Floats":
        return np.array([row[name] for row in rows], dtype=np.float64)

    return AxisMap(
        {
            "iteration": column("iteration"),
            "samples": np.array([_count_samples(row, stages) for row in rows], dtype=np.float64),
            "epoch": column("epoch"),
            "adaptation-epoch": column("adaptation_epoch"),
            "time": column("seconds") + (shared.seconds or 0.0 if shared else 0.0),
        }
    )


class StageCost(NamedTuple):
    """Where a stage starts, its images per iteration, and whether it adapts: then target images count as well."""

    name: str
    iteration: int
    epoch: int
    images: int
    adapts: bool


def _stage_costs(config: "RunConfig", events: Sequence[Row]) -> list[StageCost]:
    from core.errors import InputError
    from core.methods import find_method

    try:
        specs = find_method(config.method).stages
    except InputError:  # a plug-in that is not installed
        return []
    started = {event["stage"]: event for event in find_stages(events)}
    stages = []
    for spec in specs:
        # A run with a shared stage 1 skips that stage, but numbers its iterations as if it had trained it.
        event = started.get(spec.name, {"iteration": 0, "epoch": 0} if spec.stage1 else None)
        if event is not None:
            images = config.stage1.batch_size if spec.stage1 else config.batch_size
            stages.append(StageCost(spec.name, event["iteration"], event["epoch"], images, spec.adapts))
    return stages


def _count_samples(row: Row, stages: Sequence[StageCost]) -> float | None:
    """Count source and target images up to an evaluation; target images count after the warm-up.

    All epochs of a stage have the same number of iterations.
    """
    total = 0.0
    for index, stage in enumerate(stages):
        if stage.name == row["stage"]:
            iterations, epochs = row["iteration"] - stage.iteration, (row["epoch"] or 0) - stage.epoch
            adapting = iterations * (row["adaptation_epoch"] or 0) / epochs if stage.adapts and epochs > 0 else 0.0
            return total + float((iterations + adapting) * stage.images)
        following = stages[index + 1].iteration if index + 1 < len(stages) else stage.iteration
        total += (following - stage.iteration) * stage.images
    return None


def find_stages(events: Sequence[Row]) -> list[Row]:
    """Return the events at which stages began, without those that lack their name or numbers in a damaged journal."""
    types = {"stage": str, "iteration": int, "epoch": int}
    stages = (event for event in events if event["event"] == "stage" and not event["superseded"])
    return [event for event in stages if all(isinstance(event.get(name), kind) for name, kind in types.items())]


@dataclass(frozen=True)
class GivenStage1:
    """A stage 1 that another run trained."""

    origin: str | None
    seconds: float | None
    """None if its cost is not recorded."""


def find_shared_stage1(events: Sequence[Row]) -> GivenStage1 | None:
    """Return the origin of the run's pseudo-labels, or None if the run trained stage 1 itself."""
    for event in reversed(events):
        if event["event"] == "pseudo-labels" and not event["superseded"]:
            if not event.get("given"):
                return None
            origin, seconds = event.get("origin"), event.get("origin_seconds")
            if isinstance(origin, str) and origin and isinstance(seconds, float | int):
                return GivenStage1(origin, float(seconds))
            return GivenStage1(None, None)  # supplied by the user: cost unknown
    return None
