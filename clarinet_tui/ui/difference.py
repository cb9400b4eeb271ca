"""What differs between two runs, in a few lines under their charts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.content import Content

from clarinet_tui.text import duration, number, percent
from clarinet_tui.ui.facts import said

if TYPE_CHECKING:
    from clarinet_tui.history.queries import RunRow

ACCURACIES = {
    "target accuracy": "target_accuracy",
    "source accuracy": "source_accuracy",
    "pseudo-label accuracy": "pseudo_label_accuracy",
}


def differences(one: RunRow, two: RunRow, everything: bool) -> Content:
    """Accuracies and cost of both with their difference; on a low screen only what matters most."""
    methods = [(run.method or "?")[-12:] for run in (one, two)]
    lines = [said((f" {'':<23}{methods[0]:>12}{methods[1]:>14}", "muted"))] if everything else []
    for name, field in ACCURACIES.items():
        values = getattr(one, field), getattr(two, field)
        if any(value is not None for value in values):
            lines.append(_row(name, *values, percent, "points"))
    lines.append(_row("training time", one.seconds, two.seconds, duration, ""))
    if everything:
        lines.append(_row("iterations", one.iteration, two.iteration, number, ""))
        return Content("\n").join([*lines, _labels(one, two), *_settings(one, two)])
    return Content("\n").join([lines[0], _labels(one, two)])


def _row(name: str, one: float | None, two: float | None, shown: Callable[[float], str], unit: str) -> Content:
    values = ["–" if value is None else shown(value) for value in (one, two)]
    parts = [(f" {name:<23}", "muted"), (f"{values[0]:>12}", "strong"), (f"{values[1]:>14}", "strong")]
    if one is not None and two is not None:
        sign = "+" if two >= one else "-"
        parts.append((f"   right {sign}{shown(abs(two - one))}{unit and ' ' + unit}", "muted"))
    return said(*parts)


def _labels(one: RunRow, two: RunRow) -> Content:
    """Only runs with the same complementary labels are a fair pair."""
    if not one.label_hash or not two.label_hash:
        return said((" label draw not known yet", "muted"))
    if one.label_hash == two.label_hash:
        return said((" ✓ ", "good"), ("same complementary labels", "muted"))
    return said((" ✗ ", "warn"), ("different complementary labels: not a fair pair", "warn"))


def _settings(one: RunRow, two: RunRow) -> list[Content]:
    """Task, seed, preset and device, where they differ."""
    pairs = [(name, getattr(one, name), getattr(two, name)) for name in ("task", "seed", "preset", "device", "host")]
    return [
        said(
            (f" {name:<23}", "muted"),
            (f"{left if left is not None else '–'} | {right if right is not None else '–'}", "warn"),
        )
        for name, left, right in pairs
        if left != right
    ]
