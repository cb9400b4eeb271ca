"""The mean curve of several seeds with bands around it, on a common x axis."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clarinet_tui.analysis.choices import BandKind
from clarinet_tui.analysis.statistics import CONFIDENCE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Points = tuple[Floats, Floats]
    """x in ascending order, and y; NaN is a gap."""


BAND_DESCRIPTIONS: dict[BandKind, str] = {
    "std": "mean ± sample standard deviation over seeds",
    "interval": "the 95 % t interval of the mean",
    "range": "from the lowest to the highest seed",
}


@dataclass(frozen=True, eq=False)
class Bands:
    """One value for each x; NaN where no run has a value (mean, range) or fewer than two have (std, t interval)."""

    x: "Floats"
    n: "NDArray[np.int64]"
    """Number of runs with a value; where it changes, the mean may jump for that reason alone."""
    mean: "Floats"
    std_low: "Floats"
    std_high: "Floats"
    """Mean minus and plus the sample standard deviation."""
    t_low: "Floats"
    t_high: "Floats"
    """The 95 % t interval of the mean."""
    minimum: "Floats"
    maximum: "Floats"

    def edges(self, kind: BandKind) -> "tuple[Floats, Floats]":
        if kind == "std":
            return self.std_low, self.std_high
        return (self.t_low, self.t_high) if kind == "interval" else (self.minimum, self.maximum)


def make_bands(curves: "Sequence[Points]", *, points: int | None = None) -> Bands:
    """Average at the x values of the runs, such as epochs, or interpolated at `points` evenly spaced ones.

    A run contributes only between its first and its last x, and not across a gap.
    """
    import numpy as np
    from scipy.special import stdtrit

    non_empty = [(np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)) for x, y in curves if len(x)]
    grid = np.unique(np.concatenate([x for x, _ in non_empty])) if non_empty else np.empty(0)
    grid = grid[np.isfinite(grid)]
    if points is not None and len(grid):
        grid = np.linspace(grid[0], grid[-1], points)
    sample = _interpolate if points is not None else _align
    values = np.array([sample(grid, x, y) for x, y in non_empty]).reshape(len(non_empty), len(grid))
    known = np.isfinite(values)
    n = known.sum(axis=0)
    mean = np.where(n > 0, np.where(known, values, 0.0).sum(axis=0) / np.maximum(n, 1), np.nan)
    squares = np.where(known, values - mean, 0.0) ** 2
    std = np.where(n > 1, np.sqrt(squares.sum(axis=0) / np.maximum(n - 1, 1)), np.nan)
    margin = stdtrit(np.maximum(n - 1, 1), (1 + CONFIDENCE) / 2) * std / np.sqrt(np.maximum(n, 1))
    minimum = np.where(known, values, np.inf).min(axis=0, initial=np.inf)
    maximum = np.where(known, values, -np.inf).max(axis=0, initial=-np.inf)
    return Bands(
        x=grid,
        n=n,
        mean=mean,
        std_low=mean - std,
        std_high=mean + std,
        t_low=mean - margin,
        t_high=mean + margin,
        minimum=np.where(n > 0, minimum, np.nan),
        maximum=np.where(n > 0, maximum, np.nan),
    )


def _align(grid: "Floats", x: "Floats", y: "Floats") -> "Floats":
    import numpy as np

    values = np.full(len(grid), np.nan)
    usable = np.isfinite(x)
    values[np.searchsorted(grid, x[usable])] = y[usable]
    return values


def _interpolate(grid: "Floats", x: "Floats", y: "Floats") -> "Floats":
    import numpy as np

    usable = np.isfinite(x)
    if not usable.any():
        return np.full(len(grid), np.nan)
    return np.interp(grid, x[usable], y[usable], left=np.nan, right=np.nan)


def interpolate_and_extend(x: "Floats", known_x: "Floats", known_y: "Floats") -> "Floats":
    """Interpolate linearly between known points and extend both ends linearly, by at most one step before the first."""
    import numpy as np

    if known_x.size < 2:
        return np.full(x.shape, np.nan)
    slopes = np.diff(known_y) / np.maximum(np.diff(known_x), 1.0)
    result = np.interp(x, known_x, known_y)
    result = np.where(x > known_x[-1], known_y[-1] + (x - known_x[-1]) * slopes[-1], result)
    result = np.where(x < known_x[0], known_y[0] + (x - known_x[0]) * slopes[0], result)
    return np.where(x < known_x[0] - (known_x[1] - known_x[0]), np.nan, result)
