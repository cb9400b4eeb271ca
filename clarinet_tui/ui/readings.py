"""The small readings beside the charts: a name, a sparkline and the newest value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.content import Content

from clarinet_tui.text import number
from clarinet_tui.ui.facts import Part, said
from clarinet_tui.ui.sparks import mean, spark

if TYPE_CHECKING:
    from clarinet_tui.ui.snapshot import Curves

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


def recent(values: Sequence[float]) -> float:
    return mean(values[-max(1, int(len(values) * RECENT)) :])


def table(curves: Curves, width: int) -> Content:
    """A line for each reading that the run has."""
    lines = []
    for metric, (name, factor, unit) in READINGS.items():
        series = curves.series.get(metric)
        if series is None or not len(series.x):
            continue
        values = series.mean.tolist()
        value = f"{number(recent(values) * factor, 3)}{unit and ' ' + unit}"
        drawn = spark(values, max(4, width - 17 - 9))
        lines.append(said((f"{name:<17}", "muted"), (drawn, "live"), (f"{value:>9}", "")))
    return Content("\n").join(lines)


def line(curves: Curves) -> Content:
    """The same on one line, without sparklines, for small screens."""
    parts: list[Part] = []
    for metric in ("ascended", "lambda", "discriminator_accuracy", "samples_per_second"):
        series = curves.series.get(metric)
        if series is not None and len(series.x):
            name, factor, unit = READINGS[metric]
            parts += [
                (f"{name} ", "muted"),
                (f"{number(recent(series.mean.tolist()) * factor, 3)}{unit and ' ' + unit}   ", ""),
            ]
    return said(*parts)
