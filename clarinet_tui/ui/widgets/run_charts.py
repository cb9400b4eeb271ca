"""A run's charts on the same x axis: losses and accuracies, and grids of small charts of metrics and hardware."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from textual import on
from textual.app import ComposeResult
from textual.containers import ItemGrid, Vertical, VerticalScroll

from clarinet_tui.chart.cells import GlyphSet
from clarinet_tui.chart.curve import Curve, Reference, VerticalMark, extent_of
from clarinet_tui.chart.scales import Viewport
from clarinet_tui.history.axes import AXES, Axis
from clarinet_tui.text import format_seed
from clarinet_tui.ui.snapshot.references import References
from clarinet_tui.ui.snapshot.snapshot import CurvesRequest, RunCurves
from clarinet_tui.ui.text.metrics import NO_SAMPLES, QUANTITIES
from clarinet_tui.ui.text.styled import styled
from clarinet_tui.ui.textual_private import GuardedHandlers
from clarinet_tui.ui.widgets.chart import Chart
from clarinet_tui.ui.widgets.styled_text import StyledText
from core.metrics import METRICS, Metric, describe_metric, shown_in

LOSSES = shown_in("loss chart")
ACCURACIES = shown_in("accuracy chart")
LOSS, ACCURACY = "Loss", "Accuracy %"


def make_lines(run: RunCurves, metrics: dict[str, Metric], axis: Axis) -> tuple[Curve, ...]:
    """Return the curves of the metrics that the run has; beside a surrogate, Eq. 6 is noise that covers the chart."""
    lines = []
    has_surrogate = "surrogate_loss" in metrics and has_values(run, "surrogate_loss")
    hidden = "complementary_loss" if has_surrogate else ""
    for index, metric in enumerate(metrics.values()):
        if has_values(run, metric.name) and metric.name != hidden:
            curve = run.series[metric.name]
            line = curve.along(run.axis_map.to_axis(axis, curve.x))
            lines.append(replace(line, name=metric.label, colour_index=index))
    return tuple(lines)


def overlay_lines(runs: Sequence[RunCurves], metric: str, axis: Axis, front: str) -> tuple[Curve, ...]:
    """Return one metric of several runs, a colour and a marker for each; the run `front` is on top."""
    lines = []
    for index, run in enumerate(runs):
        if has_values(run, metric):
            x = run.axis_map.to_axis(axis, run.series[metric].x)
            name = f"{run.run.id} {run.run.method or '?'} {format_seed(run.run.seed)}"
            line = Curve.through(x, run.series[metric].mean, name=name, colour_index=index)
            lines.append((run.run.id != front, line))
    return tuple(line for _, line in sorted(lines, key=lambda pair: pair[0]))


def has_values(run: RunCurves, metric: str) -> bool:
    return metric in run.series and bool(run.series[metric].x.size)


def make_marks(run: RunCurves, axis: Axis) -> tuple[VerticalMark, ...]:
    """Return a mark at the start of each later stage, and where each open alarm was raised."""
    marks = [(start, name, False) for start, name in run.stages]
    marks += [(alarm.iteration, f"! {alarm.kind}", True) for alarm in run.alarms if alarm.iteration is not None]
    x = run.axis_map.to_axis(axis, np.array([iteration for iteration, _, _ in marks], dtype=np.float64))
    placed = (VerticalMark(float(at), label, is_alarm) for at, (_, label, is_alarm) in zip(x, marks, strict=True))
    return tuple(mark for mark in placed if np.isfinite(mark.x))


class RunCharts(GuardedHandlers, Vertical):
    """Shows the curves of one run or of several; a new selection of runs resets the zoom."""

    DEFAULT_CSS = """
    RunCharts.-beside { layout: horizontal; }
    RunCharts.-beside .accuracy { margin-left: 1; }
    """

    def __init__(self, glyphs: GlyphSet, *, id: str | None = None) -> None:  # noqa: A002
        self.accuracy = Chart(ACCURACY, glyphs=glyphs, classes="accuracy")
        self.loss = Chart(LOSS, glyphs=glyphs, classes="loss")
        super().__init__(self.loss, self.accuracy, id=id)
        self.loss.smoothing = 0.03
        self.accuracy.empty_text = "no accuracy yet"
        self.loss.empty_text = "no iteration yet"
        self.axis: Axis = "iteration"
        self.runs: tuple[RunCurves, ...] = ()
        self._front_run = ""
        self._width = 100
        """Points of the curves; hidden charts keep the last number."""
        self._references: References | None = None
        self._reference_kind = "none"
        self._metric_index = 0
        """Which of the metrics is shown of several runs."""

    def use_full_scale(self, full: bool) -> None:
        """Show accuracies from 0 to 100, or only the range of the data."""
        self.accuracy.y_range = (0.0, 100.0) if full else None

    @property
    def curves(self) -> RunCurves | None:
        """The curves of the front run."""
        return self._curves_of(self._front_run) or (self.runs[0] if self.runs else None)

    def _curves_of(self, run: str) -> RunCurves | None:
        return next((curves for curves in self.runs if curves.run.id == run), None)

    @on(Chart.Resized)
    def on_resize(self) -> None:
        """Put the charts side by side, or stack them; low stacked charts share their x labels."""
        beside = self.size.width >= 100 and self.size.height < 26
        self.set_class(beside, "-beside")
        self.loss.x_labels = beside or self.size.height >= 30 or not self.accuracy.display

    def curves_request(self, run: str, *more: str, others: bool = False) -> CurvesRequest:
        """The request for a run's curves; a zoomed chart requests its window in detail."""
        window = None
        shown = self._curves_of(run)
        if shown and not self.loss.view.shows_all:
            start, stop = (shown.axis_map.to_iteration(self.usable_axis, x) for x in self.loss.window)
            margin = (stop - start) / 2
            window = (max(0.0, start - margin), stop + margin)
        widest = max(self.loss.size.width, self.accuracy.size.width)
        self._width = max(100, widest * 2) if widest else self._width
        return CurvesRequest(run, (*LOSSES, *ACCURACIES, *more), self._width, window, others)

    def show(self, *runs: RunCurves, front: str = "") -> None:
        """Show these runs; the front run is on top and has its stages marked."""
        front = front or (runs[0].run.id if runs else "")
        if runs and runs == self.runs and front == self._front_run:
            return
        has_other_runs = {curves.run.id for curves in runs} != {curves.run.id for curves in self.runs}
        self.runs, self._front_run = runs, front
        if has_other_runs:
            self._reset_views()
        self._draw()

    def show_references(self, references: References | None, kind: str) -> None:
        """Show the references of this kind in the accuracy chart of a single run."""
        if references is not self._references or kind != self._reference_kind:
            self._references, self._reference_kind = references, kind
            self.accuracy.references = self._shown_references()

    def _shown_references(self) -> tuple[Reference, ...]:
        available = self._references
        if len(self.runs) != 1 or available is None or available.request.run != self.runs[0].run.id:
            return ()
        return available.for_chart(self._reference_kind, self.runs[0].axis_map, self.usable_axis)

    @property
    def next_axis(self) -> Axis:
        """The next x axis that the runs have."""
        usable = [axis for axis in AXES if axis == "iteration" or self._has_axis(axis)]
        return usable[(usable.index(self.usable_axis) + 1) % len(usable)]

    @property
    def usable_axis(self) -> Axis:
        """The chosen axis, or iterations if the runs do not have it yet."""
        return self.axis if self._has_axis(self.axis) else "iteration"

    def use_axis(self, axis: Axis) -> None:
        self.axis = axis
        self._reset_views()
        self._draw()

    def next_metric(self) -> None:
        """Switch to the next loss and accuracy that any of several runs has."""
        self._metric_index += 1
        self._draw()

    def _has_axis(self, axis: Axis) -> bool:
        return any(np.isfinite(curves.axis_map.values[axis]).sum() > 1 for curves in self.runs)

    def _reset_views(self) -> None:
        for chart in (self.loss, self.accuracy):
            chart.view, chart.crosshair = Viewport(), None

    def _draw(self) -> None:
        axis = self.usable_axis
        losses, accuracies = self._lines(self.loss, LOSSES), self._lines(self.accuracy, ACCURACIES)
        marks = make_marks(self.curves, axis) if self.curves else ()
        for chart, lines in ((self.loss, losses), (self.accuracy, accuracies)):
            chart.lines, chart.marks = lines, marks
            chart.x_range = extent_of((*losses, *accuracies))
            chart.x_name, chart.x_is_time = AXES[axis], axis == "time"
        self.accuracy.references = self._shown_references()

    def _lines(self, chart: Chart, metrics: dict[str, Metric]) -> tuple[Curve, ...]:
        """All metrics of one run, or one metric of several runs, named in the chart's title."""
        title = LOSS if chart is self.loss else ACCURACY
        available = [metric for metric in metrics if any(has_values(run, metric) for run in self.runs)]
        if len(self.runs) < 2 or not available:
            chart.title = title
            return make_lines(self.runs[0], metrics, self.usable_axis) if len(self.runs) == 1 else ()
        metric = available[self._metric_index % len(available)]
        chart.title = f"{metrics[metric].label.capitalize()} {title.lower()}"
        return overlay_lines(self.runs, metric, self.usable_axis, self._front_run)


COLUMN = 38
"""Minimum width of a chart."""


@dataclass(frozen=True)
class SmallChart:
    """The title and the lines of a chart; the axes also cover the lines of `scale_only`."""

    title: str
    lines: tuple[Curve, ...]
    scale_only: tuple[Curve, ...] = ()


class ChartGrid(GuardedHandlers, VerticalScroll):
    """Charts are added when they first have a line; another run resets the zoom."""

    DEFAULT_CSS = """
    ChartGrid { height: 1fr; scrollbar-size-vertical: 1; }
    ChartGrid ItemGrid { height: auto; grid-gutter: 0 1; grid-rows: 9; }
    ChartGrid Chart { height: 1fr; }
    """

    def __init__(self, glyphs: GlyphSet, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._glyphs = glyphs
        self._charts: dict[str, Chart] = {}
        self._run = ""

    def compose(self) -> ComposeResult:
        yield ItemGrid(min_column_width=COLUMN)

    def show_charts(self, run: str, charts: Mapping[str, SmallChart], x_name: str, *, is_time: bool) -> None:
        """Show these charts of a run in their order."""
        for name in self._charts.keys() - charts.keys():
            self._charts.pop(name).remove()
        if run != self._run:
            self._run = run
            for chart in self._charts.values():
                chart.view, chart.crosshair = Viewport(), None
        extent = extent_of(line for chart in charts.values() for line in chart.lines)
        for name, shown in charts.items():
            if name not in self._charts:
                self._charts[name] = Chart(shown.title, glyphs=self._glyphs)
            chart = self._charts[name]
            chart.lines, chart.scale_only, chart.x_range = shown.lines, shown.scale_only, extent
            chart.x_name, chart.x_is_time = x_name, is_time
        ordered = [self._charts[name] for name in charts]
        if added := [chart for chart in ordered if not chart.is_attached]:
            grid = self.query_one(ItemGrid)
            grid.mount(*added)
            grid.sort_children(key=lambda chart: ordered.index(chart) if chart in ordered else -1)


class MetricGrid(ChartGrid):
    """Shows the metrics that the run has."""

    def show(self, curves: RunCurves, axis: Axis) -> None:
        charts = {}
        for name in dict.fromkeys((*METRICS, *curves.series)):
            metric = describe_metric(name)
            if lines := make_lines(curves, {name: metric}, axis):
                charts[name] = SmallChart(metric.title_with_unit, tuple(replace(line, name="") for line in lines))
        self.show_charts(curves.run.id, charts, AXES[axis], is_time=axis == "time")
        self._fit_rows()

    def on_resize(self) -> None:
        self._fit_rows()

    def _fit_rows(self) -> None:
        """Let the charts fill the grid; if they would be lower than 9 rows, it scrolls."""
        columns = max(1, (self.size.width + 1) // (COLUMN + 1))
        rows = max(1, -(-len(self._charts) // columns))
        self.query_one(ItemGrid).styles.grid_rows = str(max(9, self.size.height // rows))


class HardwareGrid(ChartGrid):
    """Shows each sampled quantity over the time of the run's attempts, or that there is no sample."""

    DEFAULT_CSS = """
    HardwareGrid ItemGrid { height: 1fr; grid-rows: 1fr; }
    HardwareGrid StyledText { height: 1fr; padding: 0 4; content-align: center middle; text-align: center; }
    HardwareGrid.-sampled StyledText { display: none; }
    """

    def compose(self) -> ComposeResult:
        yield StyledText()
        yield from super().compose()

    def on_mount(self) -> None:
        self.query_one(StyledText).set_content(styled((NO_SAMPLES, "muted")))

    def on_resize(self) -> None:
        """Put the charts into two or three columns, so that all of them are in view."""
        columns = 3 if self.size.width >= 3 * (COLUMN + 1) else 2
        self.query_one(ItemGrid).min_column_width = self.size.width // columns - 1

    def show(self, run: str, samples: Mapping[str, Curve]) -> None:
        self.set_class(bool(samples), "-sampled")
        charts = {}
        for name, quantity in QUANTITIES.items():
            if curve := samples.get(name):
                at = np.isfinite(curve.mean)
                x, *values = (array[at] for array in (curve.x, curve.mean, curve.low, curve.high))
                line = Curve.through(x, *(array * quantity.factor for array in values))
                zero = (Curve.through(x, np.zeros(len(x))),) if quantity.from_zero else ()
                charts[name] = SmallChart(f"{quantity.title} {quantity.unit}", (line,), zero)
        self.show_charts(run, charts, "time", is_time=True)
