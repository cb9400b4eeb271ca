"""The data of a chart: immutable lines, and marks along x."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clarinet_tui.text import printable

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def read_only(values: ArrayLike) -> Floats:
    """Return a read-only copy."""
    array = np.array(values, dtype=np.float64).reshape(-1)
    array.flags.writeable = False
    return array


@dataclass(frozen=True, eq=False)
class Line:
    """A line: for each x the lowest, highest and mean value, and the number of values that are NaN.

    Use `Line.through` for one value per x, or `Line.envelope` for summaries of many. `colour_index` selects colour and
    marker from the palette; the default is the line's index in the chart.
    """

    name: str
    x: Floats
    low: Floats
    high: Floats
    mean: Floats
    missing: Floats
    colour_index: int | None = None
    colour: str | None = None
    marker: str | None = None

    @classmethod
    def through(
        cls,
        name: str,
        x: ArrayLike,
        y: ArrayLike,
        *,
        colour_index: int | None = None,
        colour: str | None = None,
        marker: str | None = None,
    ) -> "Line":
        """Make a line through the points (x, y); NaN is a gap, an infinite value an arrow at the edge."""
        values = read_only(y)
        return cls.envelope(name, x, values, values, values, colour_index=colour_index, colour=colour, marker=marker)

    @classmethod
    def envelope(
        cls,
        name: str,
        x: ArrayLike,
        low: ArrayLike,
        high: ArrayLike,
        mean: ArrayLike,
        missing: ArrayLike | None = None,
        *,
        colour_index: int | None = None,
        colour: str | None = None,
        marker: str | None = None,
    ) -> "Line":
        """Make a line of summaries that covers everything between low and high at each x, so that no peak is lost."""
        columns = [read_only(values) for values in (x, low, high, mean)]
        gaps = np.isnan(columns[3])
        columns.append(read_only(gaps if missing is None else np.maximum(read_only(missing), gaps)))
        if len({column.size for column in columns}) != 1:
            raise ValueError(f"line {name!r}: x, low, high, mean and missing must have equal lengths")
        known = np.isfinite(columns[0])
        if not known.all():
            columns = [read_only(column[known]) for column in columns]
        if np.any(np.diff(columns[0]) < 0):
            order = np.argsort(columns[0], kind="stable")
            columns = [read_only(column[order]) for column in columns]
        x, low, high, mean, missing = columns
        return cls(printable(name), x, low, high, mean, missing, colour_index, colour, marker)

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


def extent_of(lines: tuple[Line, ...]) -> tuple[float, float]:
    """Return the first and the last x of all lines; (0, 1) without lines, and a margin around a single x."""
    known = [line.extent for line in lines if line.extent]
    if not known:
        return 0.0, 1.0
    start, stop = min(first for first, _ in known), max(last for _, last in known)
    if start == stop:
        margin = max(abs(start) * 0.1, 0.5)
        return start - margin, stop + margin
    return start, stop
