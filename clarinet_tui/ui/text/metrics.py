"""Metrics beside the charts: name, sparkline and newest value, and the share of gradient ascent steps."""

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from textual.content import Content

from clarinet_tui.chart.curve import Curve
from clarinet_tui.runs.state import RunState
from clarinet_tui.text import (
    GIB,
    finite_mean,
    fit_width,
    format_bytes,
    format_number,
    format_percent,
    format_seed,
    progress_bar,
    sparkline,
)
from clarinet_tui.ui.snapshot.snapshot import RunCurves
from clarinet_tui.ui.text.styled import STATE_STYLES, Span, styled
from core.metrics import METRICS, Metric, describe_metric, shown_in

SIDEBAR = shown_in("sidebar")
NAME, VALUE = 17, 9
"""Column widths of a metric's name and value."""
NO_SAMPLES = "No samples of the hardware: a run records one about every ten seconds and at its end."


def recent_mean(values: Sequence[float]) -> float:
    """The mean of the last tenth."""
    return finite_mean(values[-max(1, len(values) // 10) :])


def format_value(metric: Metric, values: Sequence[float]) -> str:
    """Format the last finite value, or the recent mean of a noisy metric."""
    finite = (value for value in reversed(values) if math.isfinite(value))
    value = recent_mean(values) if metric.noisy else next(finite, math.nan)
    return f"{format_number(value * metric.factor, 3)} {metric.unit}".rstrip()


def format_metrics(curves: RunCurves, width: int, *, explained: bool = False) -> Content:
    """Format a line for each metric of the run, and for gradient ascent a second one with a bar.

    If they are explained, the meaning of each metric is below its line.
    """
    lines = []
    plot_width = max(4, width - NAME - VALUE)
    for name in (*SIDEBAR, *(name for name in curves.series if name not in METRICS)):
        metric, values = describe_metric(name), _values(curves, name)
        if not values:
            continue
        text = f"{format_value(metric, values):>{VALUE}}"
        if name == "ascended":
            lines.append(format_ascent(recent_mean(values), plot_width))
            text = " " * VALUE
        name_cell = fit_width(metric.label, NAME - 1)
        lines.append(styled((f"{name_cell} ", "muted"), (sparkline(values, plot_width), "live"), (text, "")))
        if explained:
            lines += [styled((f"  {row}", "faint")) for row in textwrap.wrap(metric.description, max(width - 2, 10))]
    return Content("\n").join(lines)


def format_ascent(share: float, width: int) -> Content:
    """Format the share of recent steps that ascended the gradient because a class loss was below zero."""
    done, rest = progress_bar(share, width)
    text = f"{format_percent(share * 100):>{VALUE - 2}} %"
    return styled((f"{'gradient ascent':<{NAME}}", "muted"), (done, "warn"), (rest, "faint"), (text, "strong"))


def _values(curves: RunCurves, metric: str) -> list[float]:
    series = curves.series.get(metric)
    return series.mean.tolist() if series is not None and len(series.x) else []


def format_metrics_line(curves: RunCurves) -> Content:
    """Format the main metrics on one line, without sparklines, for small screens."""
    spans: list[Span] = []
    for name, metric in shown_in("status line").items():
        if values := _values(curves, name):
            text = f"{format_value(metric, values)}   "
            if name == "ascended":
                done, rest = progress_bar(recent_mean(values), 6)
                spans += [("ascent ", "muted"), (done, "warn"), (rest, "faint"), (f" {text}", "")]
            else:
                spans += [(f"{metric.label} ", "muted"), (text, "")]
    return styled(*spans)


def format_runs(runs: Sequence[RunCurves], front: str, markers: Sequence[tuple[str, str]], width: int) -> Content:
    """Format the legend of overlaid runs: marker and its colour, name, progress or state, target accuracy."""
    lines = []
    for curves, (marker, colour) in zip(runs, markers, strict=True):
        run, (glyph, state_role) = curves.run, STATE_STYLES[curves.run.state]
        accuracy = f"{format_percent(run.target_accuracy):>6} %"
        shows_progress = run.state is RunState.RUNNING and run.progress is not None
        state = f"{run.progress:>5.0%}" if shows_progress else f"{glyph:>5}"
        name = f"{run.method or '?'} {format_seed(run.seed)} {run.id}"
        name_width = max(8, width - 2 - len(accuracy) - len(state))
        role = "strong" if run.id == front else ""
        spans = [(f"{marker} ", colour), (f"{name[:name_width]:<{name_width}}", role), (state, state_role)]
        lines.append(styled(*spans, (accuracy, role)))
    return Content("\n").join(lines)


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


def format_hardware(samples: Mapping[str, Curve], width: int) -> list[Content]:
    """Return a line for each quantity that was sampled; the bars are between its minimum and maximum."""
    bars = min(width - NAME - VALUE, 40)
    lines = []
    for name, quantity in QUANTITIES.items():
        if name in samples:
            values = samples[name].mean
            curve = sparkline(values.tolist(), bars) if bars >= 6 else ""
            last = f"{quantity.format_value(float(values[np.isfinite(values)][-1])):>{VALUE}}"
            lines.append(styled((fit_width(quantity.title, NAME), "muted"), (curve, "live"), (last, "")))
    return lines
