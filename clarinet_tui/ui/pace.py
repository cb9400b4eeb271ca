"""How a run's iterations relate to its epochs and its time, and the x axes that follow from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

AxisName = Literal["iteration", "epoch", "adaptation epoch", "time"]
AXES: tuple[AxisName, ...] = get_args(AxisName)
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Pace:
    """At the end of each evaluated epoch: iteration, epochs, adaptation epochs (NaN before) and training seconds."""

    iteration: Floats
    epoch: Floats
    adaptation_epoch: Floats
    seconds: Floats

    def along(self, axis: AxisName, iterations: Floats) -> Floats:
        """Iterations as places on another axis, in a straight line between evaluations; NaN where there is no place."""
        if axis == "iteration":
            return iterations
        known = {"epoch": self.epoch, "adaptation epoch": self.adaptation_epoch, "time": self.seconds}[axis]
        usable = np.isfinite(known)
        at, places = self.iteration[usable], known[usable]
        if axis != "adaptation epoch":
            at, places = np.r_[0.0, at], np.r_[0.0, places]
        if at.size < 2:
            return np.full(iterations.shape, np.nan)
        return _straight(iterations, at, places, keep_before=axis != "adaptation epoch")

    def back(self, axis: AxisName, place: float) -> float:
        """The iteration at a place of the axis."""
        if axis == "iteration" or not self.iteration.size:
            return place
        grid = np.r_[0.0, self.iteration, 2 * self.iteration[-1]]
        places = self.along(axis, grid)
        usable = np.isfinite(places)
        return float(np.interp(place, places[usable], grid[usable])) if usable.sum() > 1 else place


def _straight(x: Floats, at: Floats, places: Floats, *, keep_before: bool) -> Floats:
    """Interpolation that goes on in a straight line after the last known place: the run does, too."""
    result = np.interp(x, at, places)
    step = (places[-1] - places[-2]) / max(at[-1] - at[-2], 1.0)
    result = np.where(x > at[-1], places[-1] + (x - at[-1]) * step, result)
    before = at[0] - (at[1] - at[0])
    return result if keep_before else np.where(x < before, np.nan, result)


def pace_of(evaluated: list[dict[str, Any]]) -> Pace:
    """The pace of a run from its evaluations, in order."""

    def column(name: str) -> Floats:
        return np.array([row[name] for row in evaluated], dtype=np.float64)

    return Pace(column("iteration"), column("epoch"), column("adaptation_epoch"), column("seconds"))
