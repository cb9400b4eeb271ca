"""The charts of a comparison: one-step left and two-step right on the same axes, or everything in one chart."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Horizontal

from clarinet_tui.chart.glyphs import Glyphs
from clarinet_tui.chart.series import extent_of
from clarinet_tui.chart.viewport import View
from clarinet_tui.ui.error_guard import Guarded
from clarinet_tui.ui.snapshot.comparison import BANDS, MEASURES, BandName
from clarinet_tui.ui.text.side_curves import SideLines, labels, side_lines, slots_of
from clarinet_tui.ui.widgets.chart import Chart

if TYPE_CHECKING:
    from clarinet_tui.ui.snapshot.comparison import Compared, Part

Shown = tuple[object, BandName, bool, bool, tuple[object, ...]]


class CompareCharts(Guarded, Horizontal):
    """Set `band`, `members` and `overlaid`, then `show` a comparison."""

    def __init__(self, glyphs: Glyphs, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.left = Chart("One-step", glyphs=glyphs, classes="left")
        self.right = Chart("Two-step", glyphs=glyphs, classes="right")
        self.left.empty_text = self.right.empty_text = "reading…"
        self.band: BandName = "std"
        self.members = True
        self.overlaid = False
        self._shown: Shown | None = None
        self._along: tuple[object, ...] = ()

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

    def show(self, compared: Compared, front: tuple[int, ...] = ()) -> None:
        """Draws the part that was read; the sides in front lie on top."""
        shown: Shown = (compared, self.band, self.members, self.overlaid, front)
        part = compared.part
        if shown == self._shown or part is None or compared.curves is None:
            return
        self._shown = shown
        along = (part.place, compared.wanted.metric, compared.wanted.axis)
        if along != self._along:
            if along[1:2] != self._along[1:2]:
                self.left.scale = "symlog" if compared.wanted.metric.endswith("loss") else "linear"
            self._along = along
            self.left.view = self.right.view = View()
            self.left.crosshair = self.right.crosshair = None
        self._draw(compared, part, front)

    def _draw(self, compared: Compared, part: Part, front: tuple[int, ...]) -> None:
        names, slots = labels(part.sides), slots_of(part.sides)
        drawn = [
            side_lines(curves, names[number], slots[number], self.band, members=self.members)
            for number, curves in (compared.curves or {}).items()
        ]
        order = sorted(range(len(drawn)), key=lambda number: number not in front)
        lefts = [number for number in order if number < len(part.lefts)]
        rights = [number for number in order if number >= len(part.lefts)]
        together = self.overlaid or not lefts or not rights
        self.right.display = not together
        self._fill(self.left, [drawn[number] for number in (order if together else lefts)])
        self._fill(self.right, [drawn[number] for number in rights])
        self._label(compared, part, together)
        self._share(together)

    def _fill(self, chart: Chart, sides: Sequence[SideLines]) -> None:
        chart.lines = tuple(side.mean for side in sides)
        chart.behind = tuple(thing for side in sides for thing in side.behind)

    def _label(self, compared: Compared, part: Part, together: bool) -> None:
        measure, axis = MEASURES[compared.wanted.metric], compared.wanted.axis
        families = {run.id: run.family for run in compared.comparison.runs} if compared.comparison else {}
        for chart, sides in ((self.left, part.lefts), (self.right, part.rights)):
            known = {families.get(fact.run, "") for side in sides for fact in side.runs}
            chart.title = measure if together or len(known) != 1 else f"{known.pop().capitalize()}: {_lower(measure)}"
            several = any(len(side.runs) > 1 for side in part.sides)
            chart.remark = f"band: {BANDS[self.band]}" if several and self.band != "none" else ""
            chart.x_name, chart.x_is_time = axis, axis == "device time"
            chart.empty_text = f"nothing to draw along {axis}"

    def _share(self, together: bool) -> None:
        """Both have the same axes and headers of the same height."""
        left, right = self.left, self.right
        both = () if together else (*right.lines, *right.behind)
        left.beside, right.beside = both, (*left.lines, *left.behind)
        extent = extent_of((*left.lines, *(() if together else right.lines)))
        left.x_range = right.x_range = extent
        self.align()
        # Once more when they have their sizes: how many rows a legend needs depends on them.
        self.call_after_refresh(self.align)

    def align(self) -> None:
        rows = 0 if not self.right.display else max(self.left.header_rows, self.right.header_rows)
        self.left.least_header = self.right.least_header = rows


def _lower(measure: str) -> str:
    return measure[0].lower() + measure[1:] if not measure.isupper() else measure
