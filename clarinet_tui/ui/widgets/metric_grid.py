"""A grid of small charts, one for each metric of a run."""

from __future__ import annotations

from dataclasses import replace

from textual.containers import ItemGrid

from clarinet_tui.ui.snapshot.curves import make_lines
from clarinet_tui.ui.snapshot.snapshot import RunCurves
from clarinet_tui.ui.snapshot.x_axes import AxisName
from clarinet_tui.ui.widgets.chart_grid import COLUMN, ChartGrid, SmallChart
from core.metrics import METRICS

MIN_ROWS = 9
"""Rows of a chart that can be read."""


class MetricGrid(ChartGrid):
    """Shows the metrics that the run has."""

    def show(self, curves: RunCurves, axis: AxisName) -> None:
        lines = {name: make_lines(curves, {name: metric}, axis) for name, metric in METRICS.items()}
        charts = {
            name: SmallChart(METRICS[name].title_with_unit, tuple(replace(line, name="") for line in drawn))
            for name, drawn in lines.items()
            if drawn
        }
        self.show_charts(curves.run.id, charts, axis)
        self._fit_rows()

    def on_resize(self) -> None:
        self._fit_rows()

    def _fit_rows(self) -> None:
        """Let the charts fill the grid; if they would be too low, it scrolls."""
        columns = max(1, (self.size.width + 1) // (COLUMN + 1))
        rows = max(1, -(-len(self._charts) // columns))
        self.query_one(ItemGrid).styles.grid_rows = str(max(MIN_ROWS, self.size.height // rows))
