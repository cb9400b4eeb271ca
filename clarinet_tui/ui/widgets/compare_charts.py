"""The charts of a comparison: one-step left and two-step right on the same axes, or everything in one chart."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Horizontal

from clarinet_tui.chart.glyphs import GlyphSet
from clarinet_tui.chart.series import extent_of
from clarinet_tui.chart.viewport import Viewport
from clarinet_tui.ui.error_guard import GuardedHandlers
from clarinet_tui.ui.snapshot.comparison import BANDS, MEASURES, BandName
from clarinet_tui.ui.text.side_curves import SideSeries, side_colours, side_names, side_series
from clarinet_tui.ui.widgets.chart import Chart

if TYPE_CHECKING:
    from clarinet_tui.ui.snapshot.comparison import ComparisonSnapshot, TaskComparison

Shown = tuple[object, BandName, bool, bool, tuple[object, ...]]


class CompareCharts(GuardedHandlers, Horizontal):
    """Set `band`, `members` and `overlaid`, then `show` a comparison."""

    def __init__(self, glyphs: GlyphSet, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.left = Chart("One-step", glyphs=glyphs, classes="left")
        self.right = Chart("Two-step", glyphs=glyphs, classes="right")
        self.left.empty_text = self.right.empty_text = "reading…"
        self.band: BandName = "std"
        self.show_seeds = True
        self.overlaid = False
        self._rendered: Shown | None = None
        self._axes_key: tuple[object, ...] = ()

    @property
    def columns(self) -> int:
        """How many a curve may have: some more than there are dots, so that not every change of size asks again."""
        dots = 2 * max(self.left.size.width, self.right.size.width)
        return max(200, -(-dots // 100) * 100)

    def compose(self) -> ComposeResult:
        yield self.left
        yield self.right

    def on_mount(self) -> None:
        for one, other in ((self.left, self.right), (self.right, self.left)):
            for name in ("scale", "smoothing"):
                self.watch(one, name, partial(setattr, other, name), init=False)

    def show(self, compared: ComparisonSnapshot, front: tuple[int, ...] = ()) -> None:
        """Draws the part that was read; the sides in front lie on top."""
        shown: Shown = (compared, self.band, self.show_seeds, self.overlaid, front)
        part = compared.part
        if shown == self._rendered or part is None or compared.curves is None:
            return
        self._rendered = shown
        along = (part.place, compared.request.metric, compared.request.axis)
        if along != self._axes_key:
            if along[1:2] != self._axes_key[1:2]:
                self.left.scale = "symlog" if compared.request.metric.endswith("loss") else "linear"
            self._axes_key = along
            self.left.view = self.right.view = Viewport()
            self.left.crosshair = self.right.crosshair = None
        self._draw(compared, part, front)

    def _draw(self, compared: ComparisonSnapshot, part: TaskComparison, front: tuple[int, ...]) -> None:
        names, slots = side_names(part.sides), side_colours(part.sides)
        drawn = [
            side_series(curves, names[number], slots[number], self.band, members=self.show_seeds)
            for number, curves in (compared.curves or {}).items()
        ]
        order = sorted(range(len(drawn)), key=lambda number: number not in front)
        lefts = [number for number in order if number < len(part.lefts)]
        rights = [number for number in order if number >= len(part.lefts)]
        together = self.overlaid or not lefts or not rights
        self.right.display = not together
        self._set_series(self.left, [drawn[number] for number in (order if together else lefts)])
        self._set_series(self.right, [drawn[number] for number in rights])
        self._set_titles(compared, part, together)
        self._share_axes(together)

    def _set_series(self, chart: Chart, sides: Sequence[SideSeries]) -> None:
        chart.lines = tuple(side.mean for side in sides)
        chart.references = tuple(thing for side in sides for thing in side.behind)

    def _set_titles(self, compared: ComparisonSnapshot, part: TaskComparison, together: bool) -> None:
        measure, axis = MEASURES[compared.request.metric], compared.request.axis
        families = {run.id: run.family for run in compared.comparison.runs} if compared.comparison else {}
        for chart, sides in ((self.left, part.lefts), (self.right, part.rights)):
            known = {families.get(fact.run, "") for side in sides for fact in side.runs}
            chart.title = measure if together or len(known) != 1 else f"{known.pop().capitalize()}: {_lower(measure)}"
            several = any(len(side.runs) > 1 for side in part.sides)
            chart.remark = f"band: {BANDS[self.band]}" if several and self.band != "none" else ""
            chart.x_name, chart.x_is_time = axis, axis == "device time"
            chart.empty_text = f"nothing to draw along {axis}"

    def _share_axes(self, together: bool) -> None:
        """Both have the same axes and headers of the same height."""
        left, right = self.left, self.right
        both = () if together else (*right.lines, *right.references)
        left.neighbour_series, right.neighbour_series = both, (*left.lines, *left.references)
        extent = extent_of((*left.lines, *(() if together else right.lines)))
        left.x_range = right.x_range = extent
        self._align_headers()
        # Once more when they have their sizes: how many rows a legend needs depends on them.
        self.call_after_refresh(self._align_headers)

    def _align_headers(self) -> None:
        rows = 0 if not self.right.display else max(self.left.header_rows, self.right.header_rows)
        self.left.min_header_rows = self.right.min_header_rows = rows


def _lower(measure: str) -> str:
    return measure[0].lower() + measure[1:] if not measure.isupper() else measure
