"""The small readings beside the charts: a name, a sparkline and the newest value."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
from textual.content import Content

from clarinet_tui.text import number
from clarinet_tui.ui.facts import Part, said

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clarinet_tui.ui.snapshot import Curves

BARS = "▁▂▃▄▅▆▇█"
READINGS = {
    "ascended": ("ascent steps", 100.0, "%"),
    "least_class_loss": ("least class loss", 1.0, ""),
    "lambda": ("λ", 1.0, ""),
    "discriminator_accuracy": ("D accuracy", 1.0, "%"),
    "entropy": ("entropy", 1.0, ""),
    "classifier_rate": ("learning rate", 1.0, ""),
    "samples_per_second": ("images/s", 1.0, ""),
}
"""Metric: its name for people, what it is multiplied with, its unit."""
RECENT = 0.1
"""The share of the run over which a reading's value is the mean: single steps jump."""


def spark(values: NDArray[np.float64], width: int) -> str:
    """The values as a row of bars from their least to their greatest; a dot where none is known."""
    if not values.size or width < 1:
        return " " * width
    cuts = np.linspace(0, values.size, width + 1).astype(int)
    means = np.array([_mean(values[a : max(b, a + 1)]) for a, b in itertools.pairwise(cuts)])
    known = means[np.isfinite(means)]
    if not known.size:
        return "·" * width
    low, high = float(known.min()), float(known.max())
    span = high - low
    places = np.full(width, 3.0) if span <= 1e-12 * max(abs(high), 1e-300) else (means - low) / span * 7
    return "".join(
        "·" if np.isnan(mean) else BARS[round(float(place))] for mean, place in zip(means, places, strict=True)
    )


def _mean(values: NDArray[np.float64]) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else float("nan")


def recent(values: NDArray[np.float64]) -> float:
    return _mean(values[-max(1, int(values.size * RECENT)) :])


def table(curves: Curves, width: int) -> Content:
    """A line for each reading that the run has."""
    lines = []
    for metric, (name, factor, unit) in READINGS.items():
        series = curves.series.get(metric)
        if series is None or not len(series.x):
            continue
        value = f"{number(recent(series.mean) * factor, 3)}{unit and ' ' + unit}"
        drawn = spark(np.asarray(series.mean, dtype=np.float64), max(4, width - 17 - 9))
        lines.append(said((f"{name:<17}", "muted"), (drawn, "live"), (f"{value:>9}", "")))
    return Content("\n").join(lines)


def line(curves: Curves) -> Content:
    """The same on one line, without sparklines, for small screens."""
    parts: list[Part] = []
    for metric in ("ascended", "lambda", "discriminator_accuracy", "samples_per_second"):
        series = curves.series.get(metric)
        if series is not None and len(series.x):
            name, factor, unit = READINGS[metric]
            parts += [(f"{name} ", "muted"), (f"{number(recent(series.mean) * factor, 3)}{unit and ' ' + unit}   ", "")]
    return said(*parts)
