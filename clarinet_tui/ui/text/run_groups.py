"""Groups of runs as lines of a table: mean ± std of the target accuracy, and of how many runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.content import Content

from clarinet_tui.text import fit_width, format_mean, format_percent, format_task, printable
from clarinet_tui.ui.text.styled import Span, styled

if TYPE_CHECKING:
    from clarinet_tui.history.queries import GroupField, RunGroup

GROUPINGS: dict[str, tuple[GroupField, ...]] = {
    "method and task": ("method", "task"),
    "method": ("method",),
    "task": ("task",),
}
VALUES: dict[GroupField, int] = {"method": 16, "task": 12}
RUNS, RUNNING, ACCURACY, BEST = 5, 5, 18, 6
"""Column widths."""


def format_group_header(fields: Sequence[GroupField]) -> Content:
    names = "".join(f"{name:<{VALUES[name]}} " for name in fields)
    numbers = f"{'runs':>{RUNS}}{'':{RUNNING}} {'target':>{ACCURACY}} {'best':>{BEST}}  presets"
    return styled((f" {names}{numbers}", "muted"))


def format_group(group: RunGroup, fields: Sequence[GroupField]) -> Content:
    spans: list[Span] = [(" ", "")]
    for name, value in zip(fields, group.values, strict=True):
        text = format_task(value) if name == "task" else value or "?"
        spans.append((f"{fit_width(printable(text), VALUES[name])} ", "strong"))
    running = f" ▸{group.running}" if group.running else ""
    spans += [
        (f"{group.runs:>{RUNS}}", "muted"),
        (f"{running:<{RUNNING}} ", "live"),
        (f"{format_accuracy(group):>{ACCURACY}} ", ""),
    ]
    spans.append((f"{format_percent(group.best):>{BEST}}  ", "muted"))
    return styled(*spans, (", ".join(group.presets), "muted"))


def format_accuracy(group: RunGroup) -> str:
    """Format the mean, its standard deviation, and the number of finished runs: 81.2 ± 1.4 (n=5)."""
    return format_mean(group.mean, group.std, 1) + (f" (n={group.measured})" if group.measured else "")
