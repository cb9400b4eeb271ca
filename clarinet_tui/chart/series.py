"""What a chart draws: immutable lines of numbers, and marks along x."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clarinet_tui.text import printable

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def frozen(values: ArrayLike) -> Floats:
    """A private, read-only copy: a line never changes once it is made."""
    array = np.array(values, dtype=np.float64).reshape(-1)
    array.flags.writeable = False
    return array


@dataclass(frozen=True, eq=False)
class Line:
    """One line: for each x the lowest, the highest and the mean value, and how many values were not numbers.

    Make one with `Line.of` (one value for each x) or `Line.envelope` (summaries of many). Colour and marker are chosen
    by `slot`, the place in the palette (by default the line's place in the chart), or given.
    """

    name: str
    x: Floats
    low: Floats
    high: Floats
    mean: Floats
    missing: Floats
    slot: int | None = None
    colour: str | None = None
    marker: str | None = None

    @classmethod
    def of(
        cls,
        name: str,
        x: ArrayLike,
        y: ArrayLike,
        *,
        slot: int | None = None,
        colour: str | None = None,
        marker: str | None = None,
    ) -> "Line":
        """A line through the points (x, y). Not-a-number is a gap, an infinite value an arrow at the edge."""
        values = frozen(y)
        return cls.envelope(name, x, values, values, values, slot=slot, colour=colour, marker=marker)

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
        slot: int | None = None,
        colour: str | None = None,
        marker: str | None = None,
    ) -> "Line":
        """A line of summaries: at each x everything between low and high is inked, so that no peak is lost."""
        columns = [frozen(values) for values in (x, low, high, mean)]
        gaps = np.isnan(columns[3])
        columns.append(frozen(gaps if missing is None else np.maximum(frozen(missing), gaps)))
        if len({column.size for column in columns}) != 1:
            raise ValueError(f"line {name!r}: x, low, high, mean and missing must be of one length")
        known = np.isfinite(columns[0])
        if not known.all():
            columns = [frozen(column[known]) for column in columns]
        if np.any(np.diff(columns[0]) < 0):
            order = np.argsort(columns[0], kind="stable")
            columns = [frozen(column[order]) for column in columns]
        x, low, high, mean, missing = columns
        return cls(printable(name), x, low, high, mean, missing, slot, colour, marker)

    @cached_property
    def extent(self) -> tuple[float, float] | None:
        """The first and the last x, also of what is missing."""
        return (float(self.x[0]), float(self.x[-1])) if self.x.size else None

    @cached_property
    def infinite(self) -> bool:
        return bool(np.isinf(self.low).any() or np.isinf(self.high).any())

    @cached_property
    def last(self) -> float | None:
        """The newest value that is a number."""
        known = np.flatnonzero(np.isfinite(self.mean))
        return float(self.mean[known[-1]]) if known.size else None

    def nearest(self, x: float) -> int | None:
        """The index of the entry nearest to x."""
        if not self.x.size:
            return None
        after = int(np.searchsorted(self.x, x))
        if after == 0 or (after < self.x.size and self.x[after] - x <= x - self.x[after - 1]):
            return min(after, self.x.size - 1)
        return after - 1


@dataclass(frozen=True)
class Mark:
    """A vertical mark, such as the start of a stage."""

    x: float
    label: str = ""


def extent_of(lines: tuple[Line, ...]) -> tuple[float, float]:
    """From the first to the last x of all lines; (0, 1) when there is nothing, a little room around a single x."""
    known = [line.extent for line in lines if line.extent]
    if not known:
        return 0.0, 1.0
    start, stop = min(first for first, _ in known), max(last for _, last in known)
    if start == stop:
        room = max(abs(start) * 0.1, 0.5)
        return start - room, stop + room
    return start, stop
