"""What a run's hardware did, as text: a row of bars over time and the last value of each quantity."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clarinet_tui.text import GIB, fit_width, format_bytes, sparkline
from clarinet_tui.ui.text.styled import styled

if TYPE_CHECKING:
    from textual.content import Content

    from clarinet_tui.history.curves import Series

NAME, VALUE = 17, 9
"""Widths of the name and of the last value, as those of the metrics above."""
MINIMUM_BARS, MAXIMUM_BARS = 6, 40
NO_SAMPLES = "No samples of the hardware: a run records one about every ten seconds and at its end."


@dataclass(frozen=True)
class Quantity:
    """What samples have of the hardware: its title, the unit in a chart, and how one value is formatted."""

    title: str
    unit: str
    format_value: Callable[[float], str]
    factor: float = 1.0
    """Converts a value to the unit."""
    from_zero: bool = True
    """Whether its chart includes zero."""


QUANTITIES = {
    "gpu_use": Quantity("GPU use", "%", lambda value: f"{value:.0f} %"),
    "gpu_memory": Quantity("GPU memory", "GiB", format_bytes, 1 / GIB),
    "power": Quantity("GPU power", "W", lambda value: f"{value:.0f} W"),
    "temperature": Quantity("GPU temperature", "°C", lambda value: f"{value:.0f} °C", from_zero=False),
    "cpu": Quantity("CPU use", "%", lambda value: f"{value:.0f} %"),
    "memory": Quantity("Process memory", "GiB", format_bytes, 1 / GIB),
}
"""By the field of a sample. CPU use is in percent of one core."""


def format_hardware(samples: Mapping[str, Series], width: int) -> list[Content]:
    """Return a line for each quantity that was sampled; the bars are between its minimum and maximum."""
    bars = min(width - NAME - VALUE, MAXIMUM_BARS)
    lines = []
    for name, quantity in QUANTITIES.items():
        if name in samples:
            values = samples[name].mean
            curve = sparkline(values.tolist(), bars) if bars >= MINIMUM_BARS else ""
            last = f"{quantity.format_value(float(values[np.isfinite(values)][-1])):>{VALUE}}"
            lines.append(styled((fit_width(quantity.title, NAME), "muted"), (curve, "live"), (last, "")))
    return lines
