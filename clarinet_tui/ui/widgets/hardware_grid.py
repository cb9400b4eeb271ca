"""Charts of what a run's hardware did over time: all of them fill the grid."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from textual.app import ComposeResult
from textual.containers import ItemGrid

from clarinet_tui.chart.curve import Line
from clarinet_tui.ui.text.metrics import NO_SAMPLES, QUANTITIES, Quantity
from clarinet_tui.ui.text.styled import styled
from clarinet_tui.ui.widgets.chart_grid import COLUMN, ChartGrid, SmallChart
from clarinet_tui.ui.widgets.styled_text import StyledText

if TYPE_CHECKING:
    from clarinet_tui.history.curves import Series


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

    def show(self, run: str, samples: Mapping[str, Series]) -> None:
        self.set_class(bool(samples), "-sampled")
        known = {name: quantity for name, quantity in QUANTITIES.items() if name in samples}
        self.show_charts(run, {name: _make_chart(known[name], samples[name]) for name in known}, "time")


def _make_chart(quantity: Quantity, series: Series) -> SmallChart:
    at = np.isfinite(series.mean)
    x, mean, low, high = (values[at] for values in (series.x, series.mean, series.low, series.high))
    line = Line.through("", x, *(values * quantity.factor for values in (mean, low, high)))
    zero = (Line.through("", x, np.zeros(len(x))),) if quantity.from_zero else ()
    return SmallChart(f"{quantity.title} {quantity.unit}", (line,), zero)
