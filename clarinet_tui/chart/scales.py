"""The scales of a chart, the positions and labels of their ticks, and the x range that is shown."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from clarinet_tui.chart.curve import Floats
from clarinet_tui.text import SUFFIXES, format_duration, format_exponent, format_number, trim_zeros

ScaleName = Literal["linear", "log", "symlog"]
SCALES: tuple[ScaleName, ...] = get_args(ScaleName)


@dataclass(frozen=True)
class Scale:
    """Converts values to heights and back. `knee` is where symlog changes from linear to logarithmic."""

    name: ScaleName
    knee: float = 1.0

    def heights(self, values: Floats) -> Floats:
        """Values that are not positive become -inf on the log scale."""
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.name == "log":
                return np.log10(np.maximum(values, 0))
            if self.name == "symlog":
                return np.arcsinh(values / self.knee)
            return values

    def height(self, value: float) -> float:
        return float(self.heights(np.array([value], dtype=np.float64))[0])

    def value(self, height: float) -> float:
        if self.name == "log":
            return float(10.0 ** np.clip(height, -307, 308))
        if self.name == "symlog":
            return float(np.sinh(np.clip(height, -700, 700)) * self.knee)
        return height


def make_scale(name: ScaleName, values: Floats) -> Scale:
    """Make a scale for these values; the knee of symlog is a power of ten below which few of them lie."""
    if name != "symlog":
        return Scale(name)
    sizes = np.abs(values[np.isfinite(values) & (values != 0)])
    if not sizes.size:
        return Scale(name)
    small = max(float(np.quantile(sizes, 0.1)), float(sizes.max()) * 1e-5)
    return Scale(name, knee=10.0 ** float(np.floor(np.log10(small))) if small > 1e-300 else 1e-300)


STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
TIME_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)


Ticks = Mapping[float, str]
"""The label of each tick, by its value."""


def round_step(span: float, count: int, *, whole: bool = False) -> float:
    """Return the smallest round step that divides the span into at most `count` parts."""
    rough = span / max(count, 1)
    if not math.isfinite(rough) or rough < 1e-300:  # below, a power of ten would be rounded to zero
        return 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    step = next((factor * power for factor in STEPS if factor * power >= rough * (1 - 1e-9)), 10 * power)
    return max(1.0, math.ceil(step)) if whole else step


def linear_ticks(low: float, high: float, count: int) -> Ticks:
    step = round_step(high - low, count)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    if last - first > 1000 or high - low < 1e-300 * count:  # ticks would coincide
        return {}
    return {index * step: format_tick(index * step, step) for index in range(first, last + 1)}


def y_ticks(scale: Scale, low: float, high: float, count: int) -> Ticks:
    """Return the ticks between two heights of a scale.

    If it is not linear, they are zero and signed powers of ten as far as there is room, then twos and fives; ranges of
    less than a decade get linear ticks.
    """
    if scale.name == "linear":
        return linear_ticks(low, high, count)
    gap = (high - low) / max(count, 1) * (1 - 1e-9)
    signed = scale.name == "symlog"
    ends = [scale.value(low), scale.value(high)]
    largest = math.floor(math.log10(max(map(abs, ends)) or 1.0))
    smallest = math.floor(math.log10(scale.knee)) if signed else math.floor(low)
    powers = [10.0**power for power in range(max(smallest, -300), min(largest, 300) + 1)]
    chosen = {0.0: "0"} if signed and low <= 0 <= high else {}
    for factors in ((1,), (2, 5)):
        for value in (sign * factor * power for power in powers for factor in factors for sign in (1, -1)):
            height = scale.height(value) if value > 0 or signed else math.nan
            if low <= height <= high and all(abs(height - scale.height(other)) >= gap for other in chosen):
                chosen[value] = ("+" if signed and value > 0 else "") + format_number(value)
    if len(chosen) < 2:
        linear = linear_ticks(ends[0], ends[1], count)
        return {value: label for value, label in linear.items() if signed or value > 0}
    return chosen


def time_ticks(low: float, high: float, count: int) -> Ticks:
    """Return ticks for seconds, at whole minutes, hours and days."""
    rough = (high - low) / max(count, 1)
    if rough <= 1:
        return {value: f"{label}s" for value, label in linear_ticks(low, high, count).items()}
    days = 86400 * round_step((high - low) / 86400, count, whole=True)
    step = next((float(step) for step in TIME_STEPS if step >= rough), days)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return {index * step: format_duration(index * step) for index in range(first, last + 1)}


def format_tick(value: float, step: float) -> str:
    """Format a tick with as many decimals as its step needs."""
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 1e15 or step < 1e-5:
        return format_exponent(value, 2)
    for unit, suffix in SUFFIXES:
        if size >= unit and (size >= 10 * unit or step >= unit / 10) and step >= 1:
            return trim_zeros(f"{value / unit:.{decimals(step / unit)}f}") + suffix
    return f"{value:.{decimals(step)}f}"


def decimals(step: float) -> int:
    """Return the decimals needed to distinguish multiples of the step."""
    for count in range(9):
        scaled = step * 10**count
        if abs(scaled - round(scaled)) < 1e-6 * max(scaled, 1e-12):
            return count
    return 9


Extent = tuple[float, float]


@dataclass(frozen=True)
class Viewport:
    """An immutable view; without limits it shows everything, including points that are added later."""

    limits: Extent | None = None
    follow: bool = False

    @property
    def shows_all(self) -> bool:
        return self.limits is None

    def window(self, extent: Extent) -> Extent:
        if self.limits is None:
            return extent
        return (extent[1] - (self.limits[1] - self.limits[0]), extent[1]) if self.follow else self.limits

    def zoom(self, factor: float, around: float | None, extent: Extent) -> "Viewport":
        """Scale the window around a fixed x, by default its end when following, else its middle."""
        start, stop = self.window(extent)
        total = extent[1] - extent[0]
        span = max((stop - start) * factor, total * 1e-6)
        if span >= total * (1 - 1e-9):
            return Viewport()
        centre = around if around is not None else (stop if self.follow else (start + stop) / 2)
        share = (centre - start) / (stop - start)
        return self._inside(centre - share * span, span, extent)

    def pan(self, share: float, extent: Extent) -> "Viewport":
        """Move the window by a share of its width; moving back stops following."""
        if self.shows_all:
            return self
        start, stop = self.window(extent)
        moved = self._inside(start + share * (stop - start), stop - start, extent)
        return replace(moved, follow=self.follow and share > 0)

    def toggle_follow(self, extent: Extent) -> "Viewport":
        """Start following the latest point, with the last quarter if everything is shown, or stop following."""
        start, stop = self.window(extent)
        if self.follow:
            return Viewport((start, stop))
        span = (stop - start) / 4 if self.shows_all else stop - start
        return Viewport((extent[1] - span, extent[1]), follow=True)

    def _inside(self, start: float, span: float, extent: Extent) -> "Viewport":
        start = min(max(start, extent[0]), extent[1] - span)
        return Viewport((start, start + span), self.follow)
