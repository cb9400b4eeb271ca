"""Monotone scales from values to heights: linear, log, and symlog, which keeps the sign."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from clarinet_tui.chart.series import Floats

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


def axis_limits(scale: Scale, low: float, high: float, step: float | None = None) -> tuple[float, float]:
    """Return the heights of both axis limits: round ones on a linear scale, so that new values rarely move them."""
    if low == high:
        margin = max(abs(low) * 0.1, 1e-12) if low else 1.0
        return low - margin, high + margin
    if scale.name == "linear" and step:
        half = step / 2
        return float(np.floor(low / half + 1e-9) * half), float(np.ceil(high / half - 1e-9) * half)
    margin = (high - low) * 0.04
    return low - margin, high + margin
