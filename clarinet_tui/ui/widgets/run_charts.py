"""The two charts of a run: its losses and its accuracies, on the same x axis."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical

from clarinet_tui.ui.curves import ACCURACIES, LOSSES, lines_of, marks_of
from clarinet_tui.ui.pace import AXES, AxisName
from clarinet_tui.ui.snapshot import Curves, CurvesWanted
from clarinet_tui.ui.widgets.chart import Chart, Glyphs, View, extent_of

METRICS = (*LOSSES, *ACCURACIES)
WIDE, LOW = 100, 26
"""Columns from which on, and rows up to which, two charts are better side by side."""


class RunCharts(Vertical):
    """Shows the curves of one run at a time; another run starts with everything in view."""

    DEFAULT_CSS = """
    RunCharts.-beside { layout: horizontal; }
    RunCharts.-beside .accuracy { margin-left: 1; }
    """

    def __init__(self, glyphs: Glyphs, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.accuracy = Chart("Accuracy %", glyphs=glyphs, classes="accuracy")
        self.loss = Chart("Loss", glyphs=glyphs, classes="loss")
        self.accuracy.y_range = (0.0, 100.0)
        self.loss.smoothing = 0.03
        self.accuracy.empty_text = "no evaluation yet"
        self.loss.empty_text = "no iteration yet"
        self.axis: AxisName = "iteration"
        self.curves: Curves | None = None

    def compose(self) -> ComposeResult:
        yield self.loss
        yield self.accuracy

    def on_resize(self) -> None:
        self._arrange()

    def on_chart_room_changed(self) -> None:
        self._arrange()

    def _arrange(self) -> None:
        """Where it is wide and low the charts stand side by side; above each other they may share their labels."""
        beside = self.size.width >= WIDE and self.size.height < LOW
        self.set_class(beside, "-beside")
        self.loss.x_labels = beside or self.size.height >= 30 or not self.accuracy.display

    def wanted(self, run: str, *more: str) -> CurvesWanted:
        """What these charts need to know of a run; zoomed, the window in detail."""
        window = None
        same = self.curves is not None and self.curves.run.id == run
        if same and self.curves and not self.loss.view.whole:
            start, stop = (self.curves.pace.back(self.axis, place) for place in self.loss.window)
            margin = (stop - start) / 2
            window = (max(0.0, start - margin), stop + margin)
        width = max(100, self.loss.size.width * 2)
        return CurvesWanted(run, (*METRICS, *more), width, window)

    def show(self, curves: Curves | None) -> None:
        if curves is not None and curves is self.curves:
            return
        before = self.curves.run.id if self.curves else None
        self.curves = curves
        if (curves.run.id if curves else None) != before:
            self._look_at_everything()
        self._draw()

    def next_axis(self) -> AxisName:
        """The next x axis that this run has."""
        usable = [axis for axis in AXES if axis == "iteration" or self._has(axis)]
        self.use_axis(usable[(usable.index(self.axis) + 1) % len(usable)] if self.axis in usable else usable[0])
        return self.axis

    def use_axis(self, axis: AxisName) -> None:
        self.axis = axis
        self._look_at_everything()
        self._draw()

    def share_axes(self, other: RunCharts) -> None:
        """Gives both runs the same axes."""
        for mine, theirs in ((self.loss, other.loss), (self.accuracy, other.accuracy)):
            mine.beside, theirs.beside = theirs.lines, mine.lines
            mine.least_header = theirs.least_header = max(mine.header_rows, theirs.header_rows)
        drawn = [chart for charts in (self, other) for chart in (charts.loss, charts.accuracy)]
        extent = extent_of(tuple(line for chart in drawn for line in chart.lines))
        for chart in drawn:
            chart.x_range = extent

    def _has(self, axis: AxisName) -> bool:
        return self.curves is not None and any(line.x.size for line in lines_of(self.curves, LOSSES, axis))

    def _look_at_everything(self) -> None:
        for chart in (self.loss, self.accuracy):
            chart.view, chart.crosshair = View(), None

    def _draw(self) -> None:
        losses = lines_of(self.curves, LOSSES, self.axis) if self.curves else ()
        accuracies = lines_of(self.curves, ACCURACIES, self.axis) if self.curves else ()
        marks = marks_of(self.curves, self.axis) if self.curves else ()
        for chart, lines in ((self.loss, losses), (self.accuracy, accuracies)):
            chart.lines, chart.marks = lines, marks
            chart.x_range = extent_of((*losses, *accuracies))
            chart.x_name, chart.x_is_time = self.axis, self.axis == "time"
