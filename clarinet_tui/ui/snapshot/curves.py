"""From a run's series to the lines of its charts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from clarinet_tui.chart.series import Line, Mark
from clarinet_tui.ui.snapshot.x_axes import AxisName

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clarinet_tui.history.queries import RunRow, Series
    from clarinet_tui.ui.snapshot.snapshot import Curves

LOSSES = {
    "complementary_loss": "complementary",
    "classification_loss": "classification",
    "adversarial_loss": "adversarial",
    "mmd": "MMD",
}
ACCURACIES = {"target_accuracy": "target", "source_accuracy": "source", "pseudo_label_accuracy": "pseudo-labels"}
"""Metrics and what their lines are called; their order is their place in the palette."""


def lines_of(curves: Curves, names: dict[str, str], axis: AxisName = "iteration") -> tuple[Line, ...]:
    """The lines of those metrics that the run has."""
    lines = []
    for slot, (metric, name) in enumerate(names.items()):
        series = curves.series.get(metric)
        if series is None or not len(series.x):
            continue
        x = curves.pace.along(axis, np.asarray(series.x, dtype=np.float64))
        lines.append(Line.envelope(name, x, series.low, series.high, series.mean, series.missing, slot=slot))
    return tuple(lines)


def overlaid(runs: Sequence[Curves], metric: str, axis: AxisName, front: str) -> tuple[Line, ...]:
    """One metric of several runs: a colour and a marker for each; the run in front lies on top."""
    lines = []
    for slot, curves in enumerate(runs):
        series = curves.series.get(metric)
        if series is not None and len(series.x):
            x = curves.pace.along(axis, np.asarray(series.x, dtype=np.float64))
            lines.append((curves.run.id != front, Line.of(label(curves.run), x, series.mean, slot=slot)))
    return tuple(line for _, line in sorted(lines, key=lambda pair: pair[0]))


def label(run: RunRow) -> str:
    """A run among others: id, method and seed."""
    return f"{run.id} {run.method or '?'} {'?' if run.seed is None else run.seed}"


def marks_of(curves: Curves, axis: AxisName = "iteration") -> tuple[Mark, ...]:
    """Where each later stage of a run of several stages begins."""
    places = curves.pace.along(axis, np.array([float(start) for start, _ in curves.stages]))
    return tuple(
        Mark(float(place), stage) for place, (_, stage) in zip(places, curves.stages, strict=True) if np.isfinite(place)
    )


def detailed(overview: Series, detail: Series) -> Series:
    """The overview, with more detail where the window is."""
    if not len(detail.x):
        return overview
    before, after = overview.x < detail.x[0], overview.x > detail.x[-1]

    def joined(whole: NDArray[Any], part: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate([whole[before], part, whole[after]])

    return type(overview)(
        x=joined(overview.x, detail.x),
        low=joined(overview.low, detail.low),
        high=joined(overview.high, detail.high),
        mean=joined(overview.mean, detail.mean),
        missing=joined(overview.missing, detail.missing),
    )
