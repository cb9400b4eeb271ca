"""The x axes of a run's charts: its iterations mapped to epochs and training time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from clarinet_tui.analysis.bands import interpolate_and_extend
from clarinet_tui.analysis.training_cost import find_stages

AxisName = Literal["iteration", "epoch", "adaptation epoch", "time"]
AXES: tuple[AxisName, ...] = get_args(AxisName)
Floats = NDArray[np.float64]
Row = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class AxisMap:
    """The values of all axes at the start and at each evaluation of a run; NaN if undefined."""

    iteration: Floats
    epoch: Floats
    adaptation_epoch: Floats
    seconds: Floats

    def to_axis(self, axis: AxisName, iterations: Floats) -> Floats:
        """Map iterations to another axis; NaN where they have no value on it."""
        if axis == "iteration":
            return iterations
        known = {"epoch": self.epoch, "adaptation epoch": self.adaptation_epoch, "time": self.seconds}[axis]
        usable = np.isfinite(known)
        return interpolate_and_extend(iterations, self.iteration[usable], known[usable])

    def to_iteration(self, axis: AxisName, value: float) -> float:
        """Return the iteration at a value of the axis."""
        if axis == "iteration":
            return value
        grid = np.r_[self.iteration, 2 * self.iteration[-1]]
        values = self.to_axis(axis, grid)
        usable = np.isfinite(values)
        return float(np.interp(value, values[usable], grid[usable])) if usable.sum() > 1 else value


def make_axis_map(evaluations: Sequence[Row], events: Sequence[Row] = ()) -> AxisMap:
    """Make the map from a run's evaluations, in order, and its stage events."""
    rows = [_first_point(events), *evaluations]

    def column(name: str) -> Floats:
        return np.array([row[name] for row in rows], dtype=np.float64)

    return AxisMap(column("iteration"), column("epoch"), column("adaptation_epoch"), column("seconds"))


def _first_point(events: Sequence[Row]) -> Row:
    """A run with given pseudo-labels begins where stage 1 would have ended; any other run begins at 0."""
    first = next(iter(find_stages(events)), {"iteration": 0, "epoch": 0})
    return {"iteration": first["iteration"], "epoch": first["epoch"], "adaptation_epoch": None, "seconds": 0.0}
