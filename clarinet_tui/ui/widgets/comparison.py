"""A comparison's charts: one for each side, or one for both."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from textual.containers import Horizontal

from clarinet_tui.chart.cells import GlyphSet
from clarinet_tui.chart.curve import Curve, Reference, extent_of
from clarinet_tui.chart.scales import Viewport
from clarinet_tui.history.axes import AXES
from clarinet_tui.ui.snapshot.comparison import BANDS, BandName
from clarinet_tui.ui.text.differences import side_colours
from clarinet_tui.ui.textual_private import GuardedHandlers
from clarinet_tui.ui.widgets.chart import Chart
from core.metrics import describe_metric

if TYPE_CHECKING:
    from clarinet_tui.analysis.seed_curves import SeedBand
    from clarinet_tui.ui.snapshot.comparison import ComparisonSnapshot, TaskComparison


class CompareCharts(GuardedHandlers, Horizontal):
    """Set `band`, `show_seeds` and `overlaid`, then call `show`."""

    def __init__(self, glyphs: GlyphSet, *, id: str | None = None) -> None:  # noqa: A002
        self.left = Chart("One-step", glyphs=glyphs, classes="left")
        self.right = Chart("Two-step", glyphs=glyphs, classes="right")
        super().__init__(self.left, self.right, id=id)
        self.left.empty_text = self.right.empty_text = "reading…"
        self.band: BandName = "std"
        self.show_seeds = True
        self.overlaid = False
        self._axes_key: tuple[object, ...] = ()

    @property
    def columns(self) -> int:
        """Points of a curve: the charts' dots, rounded up so that small resizes need no new curves."""
        dots = 2 * max(self.left.size.width, self.right.size.width)
        return max(200, -(-dots // 100) * 100)

    def on_mount(self) -> None:
        for chart, other in ((self.left, self.right), (self.right, self.left)):
            for name in ("scale", "smoothing"):
                self.watch(chart, name, partial(setattr, other, name), init=False)

    def show(self, snapshot: ComparisonSnapshot, front: tuple[int, ...] = ()) -> None:
        """Draw the curves of the snapshot; the sides in `front` are on top."""
        part, request = snapshot.part, snapshot.request
        if part is None or snapshot.curves is None:
            return
        axes_key = (part.task_preset, request.metric, request.axis)
        if axes_key != self._axes_key:
            if axes_key[1:2] != self._axes_key[1:2]:
                self.left.scale = "symlog" if describe_metric(request.metric).kind == "loss" else "linear"
            self._axes_key = axes_key
            self.left.view = self.right.view = Viewport()
            self.left.crosshair = self.right.crosshair = None
        self._draw(snapshot, part, front)

    def _draw(self, snapshot: ComparisonSnapshot, part: TaskComparison, front: tuple[int, ...]) -> None:
        names, colours = [side.title for side in part.sides], side_colours(part.sides)
        curves = (snapshot.curves or {}).items()
        series = [self._make_curves(band, names[index], colours[index]) for index, band in curves]
        order = sorted(range(len(series)), key=lambda index: index not in front)
        lefts = [index for index in order if index < len(part.lefts)]
        rights = [index for index in order if index >= len(part.lefts)]
        in_one = self.overlaid or not lefts or not rights
        self.right.display = not in_one
        title, axis = describe_metric(snapshot.request.metric).title_with_unit, snapshot.request.axis
        family_of = {run.id: run.family for run in snapshot.comparison.runs} if snapshot.comparison else {}
        has_bands = any(len(side.runs) > 1 for side in part.sides) and self.band != "none"
        for chart, indices, sides in (
            (self.left, order if in_one else lefts, part.lefts),
            (self.right, rights, part.rights),
        ):
            chart.lines = tuple(series[index][0] for index in indices)
            chart.references = tuple(reference for index in indices for reference in series[index][1])
            families = {family_of.get(run.run, "") for side in sides for run in side.runs}
            with_family = not in_one and len(families) == 1
            lower_title = title if title.isupper() else title[0].lower() + title[1:]
            chart.title = f"{families.pop().capitalize()}: {lower_title}" if with_family else title
            chart.remark = f"band: {BANDS[self.band]}" if has_bands else ""
            chart.x_name, chart.x_is_time = AXES[axis], axis == "time"
            chart.empty_text = f"no values along {AXES[axis]}"
        # Both charts have the same ranges, and headers of the same height.
        left, right = self.left, self.right
        left.scale_only = () if in_one else (*right.lines, *right.references)
        right.scale_only = (*left.lines, *left.references)
        left.x_range = right.x_range = extent_of((*left.lines, *(() if in_one else right.lines)))
        self._align_headers()
        # Again after layout: the rows of a legend depend on the chart's width.
        self.call_after_refresh(self._align_headers)

    def _make_curves(self, seeds: SeedBand, name: str, colour_index: int) -> tuple[Curve, list[Reference]]:
        """Return the mean of a side's runs; its band and single runs."""
        mean, references = Curve.through(seeds.x, seeds.mean, name=name, colour_index=colour_index), list[Reference]()
        if self.band != "none" and (seeds.n > 1).any():
            edges = seeds.edges[self.band]
            references.append(Curve.through(seeds.x, seeds.mean, *edges, colour_index=colour_index, filled=True))
        if self.show_seeds:
            references += [replace(curve, colour_index=colour_index) for curve in seeds.members]
        return mean, references

    def _align_headers(self) -> None:
        rows = 0 if not self.right.display else max(self.left.header_rows, self.right.header_rows)
        self.left.min_header_rows = self.right.min_header_rows = rows
