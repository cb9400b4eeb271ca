"""The small readings beside the charts: a name, a sparkline and the newest value; and a meter for gradient ascent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.content import Content

from clarinet_tui.runs.state import RunState
from clarinet_tui.text import finite_mean, format_number, format_percent, progress_bar, sparkline
from clarinet_tui.ui.text.styled import Span, state_style, styled
from core.metrics import Metric, shown_in

if TYPE_CHECKING:
    from clarinet_tui.ui.snapshot.snapshot import RunCurves


READINGS = shown_in("readings")
RECENT = 0.1
"""The share of the run that "lately" is."""
NAME, VALUE = 17, 9
"""Columns of a reading's name and of its value."""


def recent_mean(values: Sequence[float]) -> float:
    return finite_mean(values[-max(1, int(len(values) * RECENT)) :])


def format_value(metric: Metric, values: Sequence[float]) -> str:
    """Return the last finite value, or the recent mean of a noisy metric."""
    value = (
        recent_mean(values) if metric.noisy else next((one for one in reversed(values) if math.isfinite(one)), math.nan)
    )
    return f"{format_number(value * metric.factor, 3)}{metric.unit and ' ' + metric.unit}"


def format_metrics(curves: RunCurves, width: int, memory: int | None = None) -> Content:
    """A line for each reading that the run has; for ascent steps a meter, too."""
    lines = []
    room = max(4, width - NAME - VALUE)
    for name, metric in READINGS.items():
        values = _values(curves, name)
        if not values:
            continue
        text = f"{format_value(metric, values):>{VALUE}}"
        if name == "ascended":
            lines.append(format_ascent(recent_mean(values), room))
            text = " " * VALUE
        lines.append(styled((f"{metric.label:<{NAME}}", "muted"), (sparkline(values, room), "live"), (text, "")))
    if memory:
        lines.append(
            styled((f"{'memory':<{NAME}}", "muted"), (" " * room, ""), (f"{format_bytes(memory):>{VALUE}}", ""))
        )
    return Content("\n").join(lines)


def format_ascent(share: float, width: int) -> Content:
    """How many of the last steps went up the gradient: a class loss below zero is pushed back."""
    done, rest = progress_bar(share, width)
    text = f"{format_percent(share * 100):>{VALUE - 2}} %"
    return styled((f"{'gradient ascent':<{NAME}}", "muted"), (done, "warn"), (rest, "faint"), (text, "strong"))


def format_bytes(count: int) -> str:
    """Bytes in short: 850 MB, 1.25 GB."""
    return f"{format_number(count / 2**30, 3)} GB" if count >= 2**30 else f"{round(count / 2**20)} MB"


def _values(curves: RunCurves, metric: str) -> list[float]:
    series = curves.series.get(metric)
    return series.mean.tolist() if series is not None and len(series.x) else []


def format_metrics_line(curves: RunCurves) -> Content:
    """The same on one line, without sparklines, for small screens."""
    parts: list[Span] = []
    for name, metric in shown_in("short readings").items():
        if values := _values(curves, name):
            text = f"{format_value(metric, values)}   "
            if name == "ascended":
                done, rest = progress_bar(recent_mean(values), 6)
                parts += [("ascent ", "muted"), (done, "warn"), (rest, "faint"), (f" {text}", "")]
            else:
                parts += [(f"{metric.label} ", "muted"), (text, "")]
    return styled(*parts)


def format_runs(shown: Sequence[RunCurves], front: str, signs: Sequence[tuple[str, str]], width: int) -> Content:
    """Runs over each other: sign and colour of each, what it is, how far, and what it has reached."""
    lines = []
    for curves, (sign, colour) in zip(shown, signs, strict=True):
        run = curves.run
        share = run.progress
        end = f"{format_percent(run.target_accuracy):>6} %"
        state = (
            f"{share:>5.0%}"
            if run.state is RunState.RUNNING and share is not None
            else f"{state_style(run.state).sign:>5}"
        )
        name = f"{run.method or '?'} {'?' if run.seed is None else run.seed} {run.id}"
        room = max(8, width - 2 - len(end) - len(state))
        chosen = "strong" if run.id == front else ""
        lines.append(
            styled(
                (f"{sign} ", colour),
                (f"{name[:room]:<{room}}", chosen),
                (state, state_style(run.state).role),
                (end, chosen),
            )
        )
    return Content("\n").join(lines)
