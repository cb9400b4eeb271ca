"""References behind the lines of a chart: bands, horizontal lines and dimmed lines."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from clarinet_tui.chart.series import Floats, Line, read_only
from clarinet_tui.text import printable


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
