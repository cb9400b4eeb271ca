"""What lies behind the lines of a chart, dimmed: bands, levels, and lines that are only company."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from clarinet_tui.chart.series import Floats, Line, frozen
from clarinet_tui.text import printable


@dataclass(frozen=True, eq=False)
class Band:
    """The room between two curves, shaded with sparse dots, such as the spread of seeds around their mean.

    With a `slot` it has the colour of the line in that slot, whose legend entry then tells its edges at the crosshair;
    without one it is a ghost in neutral grey, and its name, if it has one, stands in the legend.
    """

    x: Floats
    low: Floats
    high: Floats
    name: str = ""
    slot: int | None = None

    @classmethod
    def of(cls, x: ArrayLike, low: ArrayLike, high: ArrayLike, *, name: str = "", slot: int | None = None) -> "Band":
        """Between two edges that run along x, in order; where one of them is not a number, the band has a gap."""
        places, bottom, top = frozen(x), frozen(low), frozen(high)
        if len({places.size, bottom.size, top.size}) != 1:
            raise ValueError(f"band {name!r}: x, low and high must be of one length")
        known = np.isfinite(bottom) & np.isfinite(top)
        return cls(
            places, frozen(np.where(known, bottom, np.nan)), frozen(np.where(known, top, np.nan)), printable(name), slot
        )

    def at(self, x: float) -> tuple[float, float] | None:
        """Its edges at x, by straight lines; None outside and in gaps."""
        if not self.x.size:
            return None
        low, high = (float(np.interp(x, self.x, edge, np.nan, np.nan)) for edge in (self.low, self.high))
        return (low, high) if np.isfinite(low) else None


@dataclass(frozen=True)
class Level:
    """A horizontal reference with its label at the left, such as a published number."""

    value: float
    label: str = ""


Behind = Line | Band | Level


def reach(thing: Behind, window: tuple[float, float]) -> Floats:
    """The values that the axes must make room for while this window is shown."""
    if isinstance(thing, Level):
        return np.array([thing.value])
    part = inside(thing.x, window)
    return np.concatenate([thing.low[part], thing.high[part]])


def inside(x: Floats, window: tuple[float, float]) -> slice:
    """The part of x in the window, and one point on each side if the window falls between two."""
    first, last = np.searchsorted(x, window[0]), np.searchsorted(x, window[1], side="right")
    return slice(max(0, int(first) - 1), int(last) + 1) if last <= first else slice(int(first), int(last))
