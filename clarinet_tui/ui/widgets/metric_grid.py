"""A grid of small charts, one for each metric of a run."""

from __future__ import annotations

from clarinet_tui.ui.snapshot.curves import make_lines
from clarinet_tui.ui.snapshot.snapshot import RunCurves
from clarinet_tui.ui.snapshot.x_axes import AxisName
from clarinet_tui.ui.widgets.chart_grid import ChartGrid, SmallChart
from core.metrics import METRICS


class MetricGrid(ChartGrid):
    """Shows the metrics that the run has."""

    def show(self, curves: RunCurves, axis: AxisName) -> None:
        lines = {name: make_lines(curves, {name: metric}, axis) for name, metric in METRICS.items()}
        charts = {name: SmallChart(METRICS[name].title_with_unit, line) for name, line in lines.items() if line}
        self.show_charts(curves.run.id, charts, axis)
