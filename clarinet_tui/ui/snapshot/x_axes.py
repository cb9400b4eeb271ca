"""How a run's iterations relate to its epochs and its time, and the x axes that follow from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from clarinet_tui.evidence.straight import straight

AxisName = Literal["iteration", "epoch", "adaptation epoch", "time"]
AXES: tuple[AxisName, ...] = get_args(AxisName)
Floats = NDArray[np.float64]
Row = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Pace:
    """At the beginning and at the end of each evaluated epoch: iteration, epochs, adaptation epochs, training seconds.

    What there is none of is NaN.
    """

    iteration: Floats
    epoch: Floats
    adaptation_epoch: Floats
    seconds: Floats

    def along(self, axis: AxisName, iterations: Floats) -> Floats:
        """Iterations as places on another axis; NaN where there is no place."""
        if axis == "iteration":
            return iterations
        known = {"epoch": self.epoch, "adaptation epoch": self.adaptation_epoch, "time": self.seconds}[axis]
        usable = np.isfinite(known)
        return straight(iterations, self.iteration[usable], known[usable])

    def back(self, axis: AxisName, place: float) -> float:
        """The iteration at a place of the axis."""
        if axis == "iteration":
            return place
        grid = np.r_[self.iteration, 2 * self.iteration[-1]]
        places = self.along(axis, grid)
        usable = np.isfinite(places)
        return float(np.interp(place, places[usable], grid[usable])) if usable.sum() > 1 else place


def pace_of(evaluated: Sequence[Row], events: Sequence[Row] = ()) -> Pace:
    """The pace of a run from its evaluations, in order, and what it said of its stages."""
    rows = [_beginning(events), *evaluated]

    def column(name: str) -> Floats:
        return np.array([row[name] for row in rows], dtype=np.float64)

    return Pace(column("iteration"), column("epoch"), column("adaptation_epoch"), column("seconds"))


def _beginning(events: Sequence[Row]) -> Row:
    """A run that was given its pseudo-labels begins where stage 1 would have ended, any other at nothing."""
    stages = (said for said in events if said["event"] == "stage" and not said["superseded"])
    first = next(stages, {"iteration": 0, "epoch": 0})
    return {"iteration": first["iteration"], "epoch": first["epoch"], "adaptation_epoch": None, "seconds": 0.0}
