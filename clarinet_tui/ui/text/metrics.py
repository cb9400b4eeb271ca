"""The small readings beside the charts: a name, a sparkline and the newest value; and a meter for gradient ascent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.content import Content

from clarinet_tui.text import bar, number, percent
from clarinet_tui.ui.snapshot.state_style import look, progress
from clarinet_tui.ui.text.run_summary import Part, said
from clarinet_tui.ui.text.sparkline import mean, spark

if TYPE_CHECKING:
    from clarinet_tui.ui.snapshot.snapshot import Curves


@dataclass(frozen=True)
class Reading:
    """A metric for people: its name, what it is multiplied with, its unit, and whether single steps jump."""

    name: str
    factor: float = 1.0
    unit: str = ""
    noisy: bool = True

    def text(self, values: Sequence[float]) -> str:
        """The newest value, or what was usual lately."""
        value = (
            recent(values) if self.noisy else next((one for one in reversed(values) if math.isfinite(one)), math.nan)
        )
        return f"{number(value * self.factor, 3)}{self.unit and ' ' + self.unit}"


READINGS = {
    "ascended": Reading("ascent so far", 100.0, "%"),
    "least_class_loss": Reading("least class loss"),
    "lambda": Reading("λ", noisy=False),
    "discriminator_accuracy": Reading("D accuracy", unit="%"),
    "entropy": Reading("entropy"),
    "classifier_rate": Reading("learning rate", noisy=False),
    "samples_per_second": Reading("images/s"),
}
RECENT = 0.1
"""The share of the run that "lately" is."""
NAME, VALUE = 17, 9
"""Columns of a reading's name and of its value."""


def recent(values: Sequence[float]) -> float:
    return mean(values[-max(1, int(len(values) * RECENT)) :])


def table(curves: Curves, width: int, memory: int | None = None) -> Content:
    """A line for each reading that the run has; for ascent steps a meter, too."""
    lines = []
    room = max(4, width - NAME - VALUE)
    for metric, reading in READINGS.items():
        values = _values(curves, metric)
        if not values:
            continue
        text = f"{reading.text(values):>{VALUE}}"
        if metric == "ascended":
            lines.append(meter(recent(values), room))
            text = " " * VALUE
        lines.append(said((f"{reading.name:<{NAME}}", "muted"), (spark(values, room), "live"), (text, "")))
    if memory:
        lines.append(said((f"{'memory':<{NAME}}", "muted"), (" " * room, ""), (f"{size(memory):>{VALUE}}", "")))
    return Content("\n").join(lines)


def meter(share: float, width: int) -> Content:
    """How many of the last steps went up the gradient: a class loss below zero is pushed back."""
    done, rest = bar(share, width)
    text = f"{percent(share * 100):>{VALUE - 2}} %"
    return said((f"{'gradient ascent':<{NAME}}", "muted"), (done, "warn"), (rest, "faint"), (text, "strong"))


def size(count: int) -> str:
    """Bytes in short: 850 MB, 1.25 GB."""
    return f"{number(count / 2**30, 3)} GB" if count >= 2**30 else f"{round(count / 2**20)} MB"


def _values(curves: Curves, metric: str) -> list[float]:
    series = curves.series.get(metric)
    return series.mean.tolist() if series is not None and len(series.x) else []


def line(curves: Curves) -> Content:
    """The same on one line, without sparklines, for small screens."""
    parts: list[Part] = []
    for metric in ("ascended", "lambda", "discriminator_accuracy", "samples_per_second"):
        if values := _values(curves, metric):
            reading = READINGS[metric]
            if metric == "ascended":
                done, rest = bar(recent(values), 6)
                parts += [("ascent ", "muted"), (done, "warn"), (rest, "faint"), (f" {reading.text(values)}   ", "")]
            else:
                parts += [(f"{reading.name} ", "muted"), (f"{reading.text(values)}   ", "")]
    return said(*parts)


def runs(shown: Sequence[Curves], front: str, signs: Sequence[tuple[str, str]], width: int) -> Content:
    """Runs over each other: sign and colour of each, what it is, how far, and what it has reached."""
    lines = []
    for curves, (sign, colour) in zip(shown, signs, strict=True):
        run = curves.run
        share = progress(run)
        end = f"{percent(run.target_accuracy):>6} %"
        state = f"{share:>5.0%}" if run.state == "running" and share is not None else f"{look(run.state).sign:>5}"
        name = f"{run.method or '?'} {'?' if run.seed is None else run.seed} {run.id}"
        room = max(8, width - 2 - len(end) - len(state))
        chosen = "strong" if run.id == front else ""
        lines.append(
            said((f"{sign} ", colour), (f"{name[:room]:<{room}}", chosen), (state, look(run.state).role), (end, chosen))
        )
    return Content("\n").join(lines)
