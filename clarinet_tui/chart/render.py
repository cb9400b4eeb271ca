"""A chart as a field of characters: lines, axes, grid, marks and crosshair, without a terminal or a widget."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clarinet_tui.chart import palette
from clarinet_tui.chart.axes import Axes, draw_axes, make_axes
from clarinet_tui.chart.cells import CROSSHAIR, GHOST, MARK, Field, faint, solid
from clarinet_tui.chart.columns import Columns, gather, smooth, spans, tail, to_heights
from clarinet_tui.chart.glyphs import Glyphs, ink
from clarinet_tui.chart.references import Band, Level
from clarinet_tui.chart.series import Floats, Line
from clarinet_tui.chart.shading import draw_bands, draw_levels
from clarinet_tui.chart.spec import Plan
from clarinet_tui.text import printable

Cells = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Picture:
    """The finished field and where the plot lies in it."""

    field: Field
    axes: Axes


@dataclass
class _Trace:
    """One line on its way to the canvas."""

    line: Line
    slot: int
    raw: Columns
    smoothed: Columns | None = None

    @property
    def shown(self) -> Columns:
        return self.smoothed or self.raw

    @property
    def marker(self) -> str:
        return self.line.marker or palette.marker(self.slot)


def draw(plan: Plan) -> Picture:
    """Draws the plan. The first line lies on top."""
    axes = make_axes(plan)
    canvas = Field(plan.width, plan.height)
    draw_axes(canvas, axes, plan)
    traces = [_trace(line, place, plan, axes) for place, line in enumerate(plan.lines)]
    draw_levels(canvas, axes, [thing for thing in plan.behind if isinstance(thing, Level)])
    draw_bands(canvas, axes, [thing for thing in plan.behind if isinstance(thing, Band)], plan.glyphs)
    _draw_marks(canvas, axes, plan)
    _draw_company(canvas, axes, plan)
    if plan.smoothing > 0:
        _draw_lines(canvas, axes, [(trace.raw, faint(trace.slot)) for trace in traces], plan.glyphs)
    _draw_lines(canvas, axes, [(trace.shown, solid(trace.slot)) for trace in traces], plan.glyphs)
    _label_marks(canvas, axes, plan)
    if plan.crosshair is not None:
        _draw_crosshair(canvas, axes, plan.crosshair)
    for place, trace in reversed(list(enumerate(traces))):
        _draw_markers(canvas, axes, trace, place, len(traces), plan)
        _draw_unknown(canvas, axes, trace, plan.glyphs)
    return Picture(canvas, axes)


def _trace(line: Line, place: int, plan: Plan, axes: Axes) -> _Trace:
    count = axes.width * plan.glyphs.across
    slot = place if line.slot is None else line.slot
    trace = _Trace(line, slot, to_heights(gather(line, plan.window, count), axes.scale))
    if plan.smoothing > 0:
        reach = plan.smoothing * count
        lead = int(np.ceil(3 * reach))
        start, stop = plan.window
        early = start - lead * (stop - start) / max(count - 1, 1)
        wide = smooth(gather(line, (early, stop), count + lead), reach)
        trace.smoothed = to_heights(tail(wide, lead), axes.scale)
    return trace


def _draw_lines(canvas: Field, axes: Axes, lines: list[tuple[Columns, int]], glyphs: Glyphs) -> None:
    """In a cell that several lines cross, the dots of all are seen, in the colour of the first."""
    dots = axes.height * glyphs.down
    patterns = np.zeros((axes.height, axes.width), dtype=np.intp)
    styles = np.zeros((axes.height, axes.width), dtype=np.int16)
    for columns, style in reversed(lines):
        low, high = spans(columns)
        one = glyphs.patterns(ink(axes.dot_rows(high), axes.dot_rows(low), dots))
        patterns |= one
        np.copyto(styles, np.int16(style), where=one > 0)
    canvas.overlay(axes.top, axes.left, glyphs.table[patterns], styles)


def _draw_company(canvas: Field, axes: Axes, plan: Plan) -> None:
    """Dim lines behind the others, without markers."""
    count = axes.width * plan.glyphs.across
    company = [thing for thing in plan.behind if isinstance(thing, Line)]
    drawn = [
        (to_heights(gather(line, plan.window, count), axes.scale), GHOST if line.slot is None else faint(line.slot))
        for line in company
    ]
    _draw_lines(canvas, axes, drawn, plan.glyphs)


def _draw_marks(canvas: Field, axes: Axes, plan: Plan) -> None:
    for mark in plan.marks:
        column = axes.column(mark.x)
        if column is None:
            continue
        canvas.column(axes.left + column, axes.top, axes.height, "┊", MARK)


def _label_marks(canvas: Field, axes: Axes, plan: Plan) -> None:
    for mark in plan.marks:
        column = axes.column(mark.x)
        if column is not None:
            label = printable(mark.label)[: max(0, axes.width - column - 2)]
            canvas.put(axes.top, axes.left + column + 1, label, MARK)


def _draw_crosshair(canvas: Field, axes: Axes, x: float) -> None:
    column = axes.column(x)
    if column is not None:
        canvas.column(axes.left + column, axes.top, axes.height, "│", CROSSHAIR)


def _draw_markers(canvas: Field, axes: Axes, trace: _Trace, place: int, lines: int, plan: Plan) -> None:
    """A marker on every point if there is room, else here and there; always on the newest, and on the crosshair."""
    columns = _marked(trace.shown.mean, axes.width, plan.glyphs.across, place, lines)
    if plan.crosshair is not None:
        columns = np.r_[columns, _crossed(trace, axes, plan)]
    rows = axes.cell_rows(trace.shown.mean[columns])
    inside = (rows >= 0) & (rows < axes.height)
    cells = rows[inside].astype(np.intp), columns[inside] // plan.glyphs.across
    canvas.scatter(axes.top + cells[0], axes.left + cells[1], trace.marker, solid(trace.slot))


def _marked(mean: Floats, width: int, across: int, place: int, lines: int) -> Cells:
    known = np.flatnonzero(~np.isnan(mean))
    if known.size <= max(1, width // 4):
        # Lines take turns, so that two that lie on each other can be told apart.
        return known if known.size <= lines else np.unique(np.r_[known[place % lines :: lines], known[-1]])
    gap = max(12, width // 6) * across
    wanted = np.arange((place + 1) * gap // (lines + 1), known[-1], gap)
    return np.unique(np.r_[known[np.minimum(np.searchsorted(known, wanted), known.size - 1)], known[-1]])


def _crossed(trace: _Trace, axes: Axes, plan: Plan) -> Cells:
    """The column in which the crosshair meets the line."""
    index = trace.line.nearest(plan.crosshair) if plan.crosshair is not None else None
    if index is None:
        return np.zeros(0, dtype=np.intp)
    start, stop = plan.window
    last = trace.shown.mean.size - 1
    column = int(np.rint((trace.line.x[index] - start) / (stop - start) * last))
    known = 0 <= column <= last and not np.isnan(trace.shown.mean[column])
    return np.array([column] if known else [], dtype=np.intp)


def _draw_unknown(canvas: Field, axes: Axes, trace: _Trace, glyphs: Glyphs) -> None:
    """Arrows at the edges for what is infinite or beyond the scale; × in its own row for what is not a number."""
    style = solid(trace.slot)
    bottom = axes.top + axes.height - 1
    for flags, row, sign in ((trace.raw.above, axes.top, "▲"), (trace.raw.below, bottom, "▼")):
        cells = np.unique(np.flatnonzero(flags) // glyphs.across)
        canvas.scatter(np.full(cells.size, row), axes.left + cells, sign, style)
    if axes.missing_row is not None:
        cells = np.unique(np.flatnonzero(trace.raw.missing) // glyphs.across)
        canvas.scatter(np.full(cells.size, axes.missing_row), axes.left + cells, "×", style)
