"""What a chart shows: immutable lines, bands, and marks along both axes."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clarinet_tui.text import printable

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Indices = NDArray[np.intp]


def read_only(values: ArrayLike) -> Floats:
    """Return a read-only copy."""
    array = np.array(values, dtype=np.float64).reshape(-1)
    array.flags.writeable = False
    return array


@dataclass(frozen=True, eq=False)
class Line:
    """For each x the lowest, highest and mean value, and the number of values that are NaN."""

    name: str
    x: Floats
    low: Floats
    high: Floats
    mean: Floats
    missing: Floats
    colour_index: int | None = None
    """Index of colour and marker in the palette; by default the line's index in the chart."""

    @classmethod
    def through(
        cls,
        name: str,
        x: ArrayLike,
        mean: ArrayLike,
        low: ArrayLike | None = None,
        high: ArrayLike | None = None,
        missing: ArrayLike | None = None,
        *,
        colour_index: int | None = None,
    ) -> "Line":
        """Make a line through the points (x, mean) that covers everything between low and high at each x.

        NaN is a gap, an infinite value an arrow at the edge.
        """
        y = read_only(mean)
        gaps = np.isnan(y)
        counts = gaps if missing is None else np.maximum(read_only(missing), gaps)
        arrays = (x, y if low is None else low, y if high is None else high, y, counts)
        columns = [read_only(values) for values in arrays]
        if len({column.size for column in columns}) != 1:
            raise ValueError(f"line {name!r}: x, low, high, mean and missing must have equal lengths")
        known = np.isfinite(columns[0])
        if not known.all():
            columns = [read_only(column[known]) for column in columns]
        if np.any(np.diff(columns[0]) < 0):
            order = np.argsort(columns[0], kind="stable")
            columns = [read_only(column[order]) for column in columns]
        xs, lows, highs, means, counts = columns
        return cls(printable(name), xs, lows, highs, means, counts, colour_index)

    @cached_property
    def extent(self) -> tuple[float, float] | None:
        """The first and the last x, including those with missing values."""
        return (float(self.x[0]), float(self.x[-1])) if self.x.size else None

    @cached_property
    def infinite(self) -> bool:
        return bool(np.isinf(self.low).any() or np.isinf(self.high).any())

    @cached_property
    def last(self) -> float | None:
        """The last finite value."""
        known = np.flatnonzero(np.isfinite(self.mean))
        return float(self.mean[known[-1]]) if known.size else None

    def nearest(self, x: float) -> int | None:
        """Return the index of the point nearest to x."""
        if not self.x.size:
            return None
        after = int(np.searchsorted(self.x, x))
        if after == 0 or (after < self.x.size and self.x[after] - x <= x - self.x[after - 1]):
            return min(after, self.x.size - 1)
        return after - 1


@dataclass(frozen=True)
class VerticalMark:
    """A vertical mark, such as the start of a stage."""

    x: float
    label: str = ""
    is_alarm: bool = False
    """Whether something is wrong from here on."""


NO_EXTENT = (0.0, 1.0)
"""The range of x where there are no values."""


def extent_of(lines: tuple[Line, ...]) -> tuple[float, float]:
    """Return the first and the last x of all lines; (0, 1) without lines, and a margin around a single x."""
    known = [line.extent for line in lines if line.extent]
    if not known:
        return NO_EXTENT
    start, stop = min(first for first, _ in known), max(last for _, last in known)
    if start == stop:
        margin = max(abs(start) * 0.1, 0.5)
        return start - margin, stop + margin
    return start, stop


@dataclass(frozen=True, eq=False)
class Band:
    """The area between two curves, such as the spread of seeds around their mean.

    With a `colour_index` it has the colour of that line, whose legend entry shows its edges at the crosshair; without
    one it is grey and has a legend entry of its own if it has a name.
    """

    x: Floats
    low: Floats
    high: Floats
    name: str = ""
    colour_index: int | None = None

    @classmethod
    def between(
        cls, x: ArrayLike, low: ArrayLike, high: ArrayLike, *, name: str = "", colour_index: int | None = None
    ) -> "Band":
        """Make a band between two edges along ascending x; NaN in either edge is a gap."""
        x_values, bottom, top = read_only(x), read_only(low), read_only(high)
        if len({x_values.size, bottom.size, top.size}) != 1:
            raise ValueError(f"band {name!r}: x, low and high must have equal lengths")
        known = np.isfinite(bottom) & np.isfinite(top)
        bottom, top = (read_only(np.where(known, edge, np.nan)) for edge in (bottom, top))
        return cls(x_values, bottom, top, printable(name), colour_index)

    def edges_at(self, x: float) -> tuple[float, float] | None:
        """Interpolate the edges at x; None outside the band and in gaps."""
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
    """Colour of a line that it belongs to; grey without one."""


Reference = Line | Band | ReferenceLine


def values_in_window(item: Reference, window: tuple[float, float]) -> Floats:
    """Return the values that the axes must cover in this window."""
    if isinstance(item, ReferenceLine):
        return np.array([item.value])
    part = window_slice(item.x, window)
    return np.concatenate([item.low[part], item.high[part]])


def window_slice(x: Floats, window: tuple[float, float]) -> slice:
    """Return the slice of x in the window, or the two points around it if there are none inside."""
    first, last = np.searchsorted(x, window[0]), np.searchsorted(x, window[1], side="right")
    return slice(max(0, int(first) - 1), int(last) + 1) if last <= first else slice(int(first), int(last))
