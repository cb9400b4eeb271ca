"""Grids of small charts of one run on the same x axis: one for each metric, or for what its hardware did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from textual.app import ComposeResult
from textual.containers import ItemGrid, VerticalScroll

from clarinet_tui.chart.cells import GlyphSet
from clarinet_tui.chart.curve import Curve, extent_of
from clarinet_tui.chart.scales import Viewport
from clarinet_tui.history.axes import AXES, Axis
from clarinet_tui.ui.snapshot.snapshot import RunCurves
from clarinet_tui.ui.text.metrics import NO_SAMPLES, QUANTITIES
from clarinet_tui.ui.text.styled import styled
from clarinet_tui.ui.textual_private import GuardedHandlers
from clarinet_tui.ui.widgets.chart import Chart
from clarinet_tui.ui.widgets.run_charts import make_lines
from clarinet_tui.ui.widgets.styled_text import StyledText
from core.metrics import METRICS

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


MIN_ROWS = 9
"""Rows of a chart that can be read."""


class MetricGrid(ChartGrid):
    """Shows the metrics that the run has."""

    def show(self, curves: RunCurves, axis: Axis) -> None:
        lines = {name: make_lines(curves, {name: metric}, axis) for name, metric in METRICS.items()}
        charts = {
            name: SmallChart(METRICS[name].title_with_unit, tuple(replace(line, name="") for line in drawn))
            for name, drawn in lines.items()
            if drawn
        }
        self.show_charts(curves.run.id, charts, AXES[axis], is_time=axis == "time")
        self._fit_rows()

    def on_resize(self) -> None:
        self._fit_rows()

    def _fit_rows(self) -> None:
        """Let the charts fill the grid; if they would be too low, it scrolls."""
        columns = max(1, (self.size.width + 1) // (COLUMN + 1))
        rows = max(1, -(-len(self._charts) // columns))
        self.query_one(ItemGrid).styles.grid_rows = str(max(MIN_ROWS, self.size.height // rows))


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
