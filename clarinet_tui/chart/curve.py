"""What a chart shows: immutable curves and bands, and marks along both axes."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Curve:
    """For each x, in ascending order, the mean, lowest and highest value, and the number of values that are not finite.

    A mean of NaN is a gap. `Curve.through` checks and completes the arrays.
    """

    x: Floats
    mean: Floats
    low: Floats
    high: Floats
    missing: Floats
    name: str = ""
    colour_index: int | None = None
    """Index of colour and marker in the palette; by default the curve's index in the chart, and grey behind curves."""
    filled: bool = False
    """Whether it is a band: the area between low and high, such as the spread of seeds around their mean."""

    @classmethod
    def through(
        cls,
        x: ArrayLike,
        mean: ArrayLike,
        low: ArrayLike | None = None,
        high: ArrayLike | None = None,
        missing: ArrayLike | None = None,
        *,
        name: str = "",
        colour_index: int | None = None,
        filled: bool = False,
    ) -> Self:
        """Make a curve through the points (x, mean) that covers everything between low and high at each x.

        Points without a finite x are left out. A band has a gap where either edge is not finite.
        """
        y = np.asarray(mean, dtype=np.float64)
        edges = (y if edge is None else edge for edge in (low, high))
        arrays = (x, y, *edges, np.zeros(y.size) if missing is None else missing)
        columns = [np.array(values, dtype=np.float64).reshape(-1) for values in arrays]
        if len({column.size for column in columns}) != 1:
            raise ValueError(f"curve {name!r}: x, mean, low, high and missing must have equal lengths")
        known = np.isfinite(columns[0])
        if not known.all():
            columns = [column[known] for column in columns]
        if np.any(np.diff(columns[0]) < 0):
            order = np.argsort(columns[0], kind="stable")
            columns = [column[order] for column in columns]
        xs, means, lows, highs, counts = columns
        counts = np.fmax(counts, np.isnan(means))
        if filled:
            gaps = ~(np.isfinite(lows) & np.isfinite(highs))
            lows[gaps] = highs[gaps] = np.nan
        for column in (xs, means, lows, highs, counts):
            column.flags.writeable = False
        return cls(xs, means, lows, highs, counts, name, colour_index, filled)

    def along(self, x: ArrayLike) -> "Curve":
        """Return the same values at other x."""
        moved = Curve.through(x, self.mean, self.low, self.high, self.missing)
        return replace(moved, name=self.name, colour_index=self.colour_index, filled=self.filled)

    def with_detail(self, detail: "Curve") -> "Curve":
        """Return the curve with its points between the ends of a detailed part replaced by that part."""
        if not detail.x.size:
            return self
        before, after = self.x < detail.x[0], self.x > detail.x[-1]
        names = ("x", "mean", "low", "high", "missing")
        parts = {name: (getattr(self, name), getattr(detail, name)) for name in names}
        joined = {name: np.r_[whole[before], part, whole[after]] for name, (whole, part) in parts.items()}
        return replace(self, **joined)

    @property
    def last(self) -> float | None:
        """The last finite value."""
        known = np.flatnonzero(np.isfinite(self.mean))
        return float(self.mean[known[-1]]) if known.size else None

    def nearest(self, x: float) -> int | None:
        """Return the index of the point nearest to x."""
        after = int(np.searchsorted(self.x, x))
        around = (index for index in (after, after - 1) if 0 <= index < self.x.size)
        return min(around, key=lambda index: abs(float(self.x[index]) - x), default=None)

    def edges_at(self, x: float) -> tuple[float, float] | None:
        """Interpolate low and high at x; None outside the curve and in gaps."""
        if not self.x.size:
            return None
        low, high = (float(np.interp(x, self.x, edge, np.nan, np.nan)) for edge in (self.low, self.high))
        return (low, high) if np.isfinite(low) else None


@dataclass(frozen=True)
class ReferenceLine:
    """A dashed horizontal line with its label at the left, such as a published result."""

    value: float
    label: str = ""
    colour_index: int | None = None
    """Colour of a curve that it belongs to; grey without one."""


Reference = Curve | ReferenceLine
"""What is drawn behind the curves: bands, dimmed curves and horizontal lines."""


@dataclass(frozen=True)
class VerticalMark:
    """A vertical mark, such as the start of a stage."""

    x: float
    label: str = ""
    is_alarm: bool = False
    """Whether something is wrong from here on."""


NO_EXTENT = (0.0, 1.0)
"""The range of x where there are no values."""


def extent_of(curves: Iterable[Curve]) -> tuple[float, float]:
    """Return the first and the last x of all curves, also of missing values; a margin around a single x."""
    ends = [float(curve.x[end]) for curve in curves if curve.x.size for end in (0, -1)]
    start, stop = (min(ends), max(ends)) if ends else NO_EXTENT
    if start == stop:
        margin = max(abs(start) * 0.1, 0.5)
        return start - margin, stop + margin
    return start, stop
