"""Make the lines and marks of charts from the curves of runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from clarinet_tui.chart.curve import Line, VerticalMark
from clarinet_tui.text import format_seed
from clarinet_tui.ui.snapshot.x_axes import AxisName
from core.metrics import Metric, shown_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clarinet_tui.history.curves import Series
    from clarinet_tui.history.queries import RunRow
    from clarinet_tui.ui.snapshot.snapshot import RunCurves

LOSSES = shown_in("loss chart")
ACCURACIES = shown_in("accuracy chart")


def make_lines(curves: RunCurves, metrics: dict[str, Metric], axis: AxisName = "iteration") -> tuple[Line, ...]:
    """Return the lines of the metrics that the run has; beside a surrogate, Eq. 6 is noise that covers the chart."""
    lines = []
    surrogate = curves.series.get("surrogate_loss") if "surrogate_loss" in metrics else None
    hidden = "complementary_loss" if surrogate is not None and len(surrogate.x) else ""
    for slot, metric in enumerate(metrics.values()):
        series = curves.series.get(metric.name)
        if series is None or not len(series.x) or metric.name == hidden:
            continue
        x = curves.axis_map.to_axis(axis, np.asarray(series.x, dtype=np.float64))
        lines.append(
            Line.through(metric.label, x, series.mean, series.low, series.high, series.missing, colour_index=slot)
        )
    return tuple(lines)


def overlay_lines(runs: Sequence[RunCurves], metric: str, axis: AxisName, front: str) -> tuple[Line, ...]:
    """Return one metric of several runs, a colour and a marker for each; the run `front` is on top."""
    lines = []
    for slot, curves in enumerate(runs):
        series = curves.series.get(metric)
        if series is not None and len(series.x):
            x = curves.axis_map.to_axis(axis, np.asarray(series.x, dtype=np.float64))
            lines.append(
                (curves.run.id != front, Line.through(run_label(curves.run), x, series.mean, colour_index=slot))
            )
    return tuple(line for _, line in sorted(lines, key=lambda pair: pair[0]))


def run_label(run: RunRow) -> str:
    """Name a run among others by id, method and seed."""
    return f"{run.id} {run.method or '?'} {format_seed(run.seed)}"


def make_stage_marks(curves: RunCurves, axis: AxisName = "iteration") -> tuple[VerticalMark, ...]:
    """Return a mark at the start of each later stage."""
    starts = curves.axis_map.to_axis(axis, np.array([float(start) for start, _ in curves.stages]))
    marks = [VerticalMark(float(x), stage) for x, (_, stage) in zip(starts, curves.stages, strict=True)]
    return tuple(mark for mark in marks if np.isfinite(mark.x))


def make_alarm_marks(curves: RunCurves, axis: AxisName = "iteration") -> tuple[VerticalMark, ...]:
    """Return a mark where each open alarm was raised."""
    alarms = [(float(alarm.iteration), alarm.kind) for alarm in curves.alarms if alarm.iteration is not None]
    starts = curves.axis_map.to_axis(axis, np.array([start for start, _ in alarms]))
    marks = [VerticalMark(float(x), f"! {kind}", is_alarm=True) for x, (_, kind) in zip(starts, alarms, strict=True)]
    return tuple(mark for mark in marks if np.isfinite(mark.x))


def insert_window(overview: Series, detail: Series) -> Series:
    """Replace the part of the overview that the window covers."""
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
