"""What a run's hardware did, as text: a row of bars over time and the last value of each quantity."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from clarinet_tui.text import fit_width, format_bytes, sparkline
from clarinet_tui.ui.text.styled import styled

if TYPE_CHECKING:
    from textual.content import Content

    from clarinet_tui.ui.snapshot.run_detail import HardwareSample

NAME, VALUE = 17, 9
"""Widths of the name and of the last value, as those of the metrics above."""
MINIMUM_BARS, MAXIMUM_BARS = 6, 40
QUANTITIES: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("GPU use", "gpu_use", lambda value: f"{value:.0f} %"),
    ("GPU memory", "gpu_memory", format_bytes),
    ("GPU power", "power", lambda value: f"{value:.0f} W"),
    ("GPU heat", "temperature", lambda value: f"{value:.0f} °C"),
    ("CPU use", "cpu", lambda value: f"{value:.0f} %"),
)
"""Title, field of a sample, and how its value is formatted."""


def format_hardware(samples: Sequence[HardwareSample], width: int) -> list[Content]:
    """Return a line for each quantity that was sampled; the bars are between its minimum and maximum."""
    bars = min(width - NAME - VALUE, MAXIMUM_BARS)
    lines = []
    for title, field, format_value in QUANTITIES:
        values = [math.nan if (value := getattr(sample, field)) is None else float(value) for sample in samples]
        known = [value for value in values if math.isfinite(value)]
        if known:
            curve = sparkline(values, bars) if bars >= MINIMUM_BARS else ""
            last = f"{format_value(known[-1]):>{VALUE}}"
            lines.append(styled((fit_width(title, NAME), "muted"), (curve, "live"), (last, "")))
    return lines
