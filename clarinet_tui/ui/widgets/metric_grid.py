"""A grid of small charts, one for each metric of a run."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import ItemGrid, VerticalScroll

from clarinet_tui.chart.glyphs import GlyphSet
from clarinet_tui.chart.series import extent_of
from clarinet_tui.ui.snapshot.curves import make_lines
from clarinet_tui.ui.snapshot.snapshot import RunCurves
from clarinet_tui.ui.snapshot.x_axes import AxisName
from clarinet_tui.ui.textual_private import GuardedHandlers
from clarinet_tui.ui.widgets.chart import Chart
from core.metrics import METRICS

COLUMN = 38
"""Minimum width of a chart."""


class MetricGrid(GuardedHandlers, VerticalScroll):
    """Charts are added when their metric first has a value."""

    DEFAULT_CSS = """
    MetricGrid { height: 1fr; scrollbar-size-vertical: 1; }
    MetricGrid ItemGrid { height: auto; grid-gutter: 0 1; grid-rows: 9; }
    MetricGrid Chart { height: 9; }
    """

    def __init__(self, glyphs: GlyphSet, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._glyphs = glyphs
        self._charts: dict[str, Chart] = {}
        self._run = ""

    def compose(self) -> ComposeResult:
        yield ItemGrid(min_column_width=COLUMN)

    def show(self, curves: RunCurves, axis: AxisName) -> None:
        if curves.run.id != self._run:
            self._run, self._charts = curves.run.id, {}
            self.query(Chart).remove()
        lines = {name: make_lines(curves, {name: metric}, axis) for name, metric in METRICS.items()}
        known = {name: line for name, line in lines.items() if line}
        for name in known.keys() - self._charts.keys():
            self._charts[name] = Chart(METRICS[name].title_with_unit, glyphs=self._glyphs)
        extent = extent_of(tuple(line for group in known.values() for line in group))
        for name, group in known.items():
            chart = self._charts[name]
            chart.lines, chart.x_range = group, extent
            chart.x_name, chart.x_is_time = axis, axis == "time"
        added = [self._charts[name] for name in METRICS if name in known and not self._charts[name].is_attached]
        if added:
            self.query_one(ItemGrid).mount(*added)
