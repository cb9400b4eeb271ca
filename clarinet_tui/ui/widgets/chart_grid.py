"""A grid of small charts of one run on the same x axis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from textual.app import ComposeResult
from textual.containers import ItemGrid, VerticalScroll

from clarinet_tui.chart.cells import GlyphSet
from clarinet_tui.chart.curve import Line, extent_of
from clarinet_tui.chart.scales import Viewport
from clarinet_tui.ui.textual_private import GuardedHandlers
from clarinet_tui.ui.widgets.chart import Chart

COLUMN = 38
"""Minimum width of a chart."""


@dataclass(frozen=True)
class SmallChart:
    """The title and the lines of a chart; the axes also cover the lines of `scale_only`."""

    title: str
    lines: tuple[Line, ...]
    scale_only: tuple[Line, ...] = ()


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

    def show_charts(self, run: str, charts: Mapping[str, SmallChart], x_name: str) -> None:
        """Show these charts of a run in their order."""
        for name in self._charts.keys() - charts.keys():
            self._charts.pop(name).remove()
        if run != self._run:
            self._run = run
            for chart in self._charts.values():
                chart.view, chart.crosshair = Viewport(), None
        extent = extent_of(tuple(line for chart in charts.values() for line in chart.lines))
        for name, shown in charts.items():
            if name not in self._charts:
                self._charts[name] = Chart(shown.title, glyphs=self._glyphs)
            chart = self._charts[name]
            chart.lines, chart.scale_only, chart.x_range = shown.lines, shown.scale_only, extent
            chart.x_name, chart.x_is_time = x_name, x_name == "time"
        ordered = [self._charts[name] for name in charts]
        if added := [chart for chart in ordered if not chart.is_attached]:
            grid = self.query_one(ItemGrid)
            grid.mount(*added)
            grid.sort_children(key=lambda chart: ordered.index(chart) if chart in ordered else -1)
