"""Views of one run whose charts can be replaced by a grid of small ones: of all metrics, or of the hardware."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clarinet_tui.ui.screens.run_actions import RunActionScreen

if TYPE_CHECKING:
    from clarinet_tui.ui.snapshot.run_detail import RunDetails
    from clarinet_tui.ui.snapshot.snapshot import RunCurves
    from clarinet_tui.ui.widgets.chart import Chart
    from clarinet_tui.ui.widgets.chart_grid import ChartGrid
    from clarinet_tui.ui.widgets.run_charts import RunCharts

GRIDS = ("-grid", "-hardware")
"""Classes of the screen while a grid is shown."""


class SmallChartScreen(RunActionScreen):
    """Mounts a grid below `#live` when it is first shown."""

    @property
    def _charts(self) -> RunCharts:
        from clarinet_tui.ui.widgets.run_charts import RunCharts

        return self.query_one(RunCharts)

    def show_grids(self, curves: RunCurves, detail: RunDetails | None) -> None:
        from clarinet_tui.ui.widgets.hardware_grid import HardwareGrid
        from clarinet_tui.ui.widgets.metric_grid import MetricGrid

        if self.has_class("-grid"):
            self.query_one(MetricGrid).show(curves, self._charts.usable_axis)
        if self.has_class("-hardware") and detail:
            self.query_one(HardwareGrid).show(curves.run.id, detail.hardware)

    async def action_grid(self) -> None:
        """Show every metric in a small chart, or loss and accuracy again."""
        from clarinet_tui.ui.widgets.metric_grid import MetricGrid

        await self._toggle_grid("-grid", MetricGrid)

    async def action_hardware(self) -> None:
        """Show what the hardware did, or loss and accuracy again."""
        from clarinet_tui.ui.widgets.hardware_grid import HardwareGrid

        await self._toggle_grid("-hardware", HardwareGrid)

    async def _toggle_grid(self, name: str, grid: type[ChartGrid]) -> None:
        if not self.query(grid):
            await self.mount(grid(self.state.chart_glyphs()), after="#live")
        is_shown = not self.has_class(name)
        self.remove_class(*GRIDS, "-log")
        self.set_class(is_shown, name)
        self._redraw()
        self.call_after_refresh(self.focus_first_chart)

    def focus_first_chart(self) -> None:
        if chart := next((chart for chart in self.charts() if chart.region), None):
            chart.focus()
        self.refresh_bindings()

    def _redraw(self) -> None:
        if self.state.snapshot:
            self.show(self.state.snapshot)
        self.send_request()

    def charts(self) -> list[Chart]:
        """Return the charts that share an x axis: that of the hardware is always time."""
        hardware = set(self.query("HardwareGrid Chart"))
        return [chart for chart in super().charts() if (chart in hardware) == self.has_class("-hardware")]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("axis", "references") and self.has_class("-hardware"):
            return False
        return super().check_action(action, parameters)
