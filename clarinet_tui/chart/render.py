"""Renders a chart as a grid of characters: lines, axes, references, marks and crosshair."""

from dataclasses import dataclass

import numpy as np

from clarinet_tui.chart import palette
from clarinet_tui.chart.axes import Axes, draw_axes, make_axes
from clarinet_tui.chart.cells import ALARM, CROSSHAIR, MARK, REFERENCE, CellGrid, faint_style, line_style
from clarinet_tui.chart.columns import Columns, bin_line, covered_spans, drop_columns, smooth, to_heights
from clarinet_tui.chart.glyphs import fill_rows
from clarinet_tui.chart.references import Band, ReferenceLine
from clarinet_tui.chart.series import Floats, Indices, Line, VerticalMark
from clarinet_tui.chart.shading import draw_bands, draw_reference_lines
from clarinet_tui.chart.spec import ChartSpec
from clarinet_tui.text import printable

DASH_CELLS = 2
"""Length of the dashes of lines that coincide."""


@dataclass(frozen=True, eq=False)
class RenderedChart:
    """The grid, and the position of the plot area in it."""

    grid: CellGrid
    axes: Axes


@dataclass(frozen=True, eq=False)
class _Trace:
    """A line with its binned values."""

    line: Line
    colour_index: int
    raw: Columns
    shown: Columns
    """Smoothed values, or the raw ones without smoothing."""


def render_chart(spec: ChartSpec) -> RenderedChart:
    """Render the chart; the first line is on top."""
    axes = make_axes(spec)
    grid = CellGrid(spec.width, spec.height)
    draw_axes(grid, axes, spec)
    traces = [_trace(line, index, spec, axes) for index, line in enumerate(spec.lines)]
    draw_reference_lines(grid, axes, [item for item in spec.references if isinstance(item, ReferenceLine)])
    draw_bands(grid, axes, [item for item in spec.references if isinstance(item, Band)])
    for mark in spec.marks:
        _draw_vertical(grid, axes, mark.x, "┊", _mark_style(mark))
    _draw_dimmed_lines(grid, axes, spec)
    if spec.smoothing > 0:
        _draw_lines(grid, axes, [(trace.raw, faint_style(trace.colour_index)) for trace in traces])
    _draw_lines(grid, axes, [(trace.shown, line_style(trace.colour_index)) for trace in traces], dashed=True)
    _label_marks(grid, axes, spec)
    if spec.crosshair is not None:
        _draw_vertical(grid, axes, spec.crosshair, "│", CROSSHAIR)
    for index, trace in reversed(list(enumerate(traces))):
        _draw_markers(grid, axes, trace, index, len(traces), spec)
        _draw_non_finite(grid, axes, trace)
    return RenderedChart(grid, axes)


def _trace(line: Line, index: int, spec: ChartSpec, axes: Axes) -> _Trace:
    count = axes.width * spec.glyphs.across
    colour_index = index if line.colour_index is None else line.colour_index
    raw = shown = to_heights(bin_line(line, spec.x_range, count), axes.scale)
    if spec.smoothing > 0:
        length = spec.smoothing * count
        lead = int(np.ceil(3 * length))
        start, stop = spec.x_range
        early = start - lead * (stop - start) / max(count - 1, 1)
        wide = smooth(bin_line(line, (early, stop), count + lead), length)
        shown = to_heights(drop_columns(wide, lead), axes.scale)
    return _Trace(line, colour_index, raw, shown)


def _draw_lines(grid: CellGrid, axes: Axes, lines: list[tuple[Columns, int]], *, dashed: bool = False) -> None:
    """A cell that several lines cross shows the dots of all, in the colour of the first.

    Dashed, lines that coincide take turns along x, so that each of them can be seen.
    """
    patterns = np.zeros((axes.height, axes.width), dtype=np.intp)
    styles = np.zeros((axes.height, axes.width), dtype=np.int16)
    crossed = np.zeros((axes.height, axes.width), dtype=np.intp)
    turn = np.arange(axes.width) // DASH_CELLS
    for columns, style in reversed(lines):
        low, high = covered_spans(columns)
        dots = fill_rows(axes.dot_rows(high), axes.dot_rows(low), axes.height * axes.glyphs.down)
        pattern = axes.glyphs.patterns(dots)
        patterns |= pattern
        crossed += pattern > 0
        on_top = (crossed == 1) | (turn % np.maximum(crossed, 1) == 0) if dashed else True
        styles[(pattern > 0) & on_top] = style
    grid.overlay(axes.left, axes.glyphs.table[patterns], styles)


def _draw_dimmed_lines(grid: CellGrid, axes: Axes, spec: ChartSpec) -> None:
    """Draw the lines among the references, without markers."""
    count = axes.width * spec.glyphs.across
    drawn = [
        (
            to_heights(bin_line(line, spec.x_range, count), axes.scale),
            REFERENCE if line.colour_index is None else faint_style(line.colour_index),
        )
        for line in spec.references
        if isinstance(line, Line)
    ]
    _draw_lines(grid, axes, drawn)


def _label_marks(grid: CellGrid, axes: Axes, spec: ChartSpec) -> None:
    for mark in spec.marks:
        column = axes.column(mark.x)
        if column is not None:
            label = printable(mark.label)[: max(0, axes.width - column - 2)]
            grid.write(0, axes.left + column + 1, label, _mark_style(mark))


def _mark_style(mark: VerticalMark) -> int:
    return ALARM if mark.is_alarm else MARK


def _draw_vertical(grid: CellGrid, axes: Axes, x: float, character: str, style: int) -> None:
    column = axes.column(x)
    if column is not None:
        grid.draw_column(axes.left + column, axes.height, character, style)


def _draw_markers(grid: CellGrid, axes: Axes, trace: _Trace, index: int, lines: int, spec: ChartSpec) -> None:
    """Draw markers on every point if there is room, else at intervals; always on the last point and the crosshair."""
    columns = _marker_columns(trace.shown.mean, axes.width, spec.glyphs.across, index, lines)
    columns = np.r_[columns, _crosshair_column(trace, spec)]
    rows = axes.cell_rows(trace.shown.mean[columns])
    inside = (rows >= 0) & (rows < axes.height)
    cells = rows[inside].astype(np.intp), columns[inside] // spec.glyphs.across
    marker = palette.marker(trace.colour_index)
    grid.scatter(cells[0], axes.left + cells[1], marker, line_style(trace.colour_index))


def _marker_columns(mean: Floats, width: int, across: int, index: int, lines: int) -> Indices:
    known = np.flatnonzero(~np.isnan(mean))
    if known.size <= max(1, width // 4):
        # Lines take turns, so that coinciding lines can be distinguished.
        return known if known.size <= lines else np.unique(np.r_[known[index % lines :: lines], known[-1]])
    gap = max(12, width // 6) * across
    targets = np.arange((index + 1) * gap // (lines + 1), known[-1], gap)
    return np.unique(np.r_[known[np.minimum(np.searchsorted(known, targets), known.size - 1)], known[-1]])


def _crosshair_column(trace: _Trace, spec: ChartSpec) -> Indices:
    """Return the column of the line's point nearest to the crosshair."""
    index = trace.line.nearest(spec.crosshair) if spec.crosshair is not None else None
    if index is None:
        return np.zeros(0, dtype=np.intp)
    start, stop = spec.x_range
    last = trace.shown.mean.size - 1
    column = int(np.rint((trace.line.x[index] - start) / (stop - start) * last))
    known = 0 <= column <= last and not np.isnan(trace.shown.mean[column])
    return np.array([column] if known else [], dtype=np.intp)


def _draw_non_finite(grid: CellGrid, axes: Axes, trace: _Trace) -> None:
    """Draw arrows at the edges for infinite values and values beyond the scale, and × in a separate row for NaN."""
    raw = trace.raw
    for flags, row, character in (
        (raw.above, 0, "▲"),
        (raw.below, axes.height - 1, "▼"),
        (raw.missing, axes.missing_row, "×"),
    ):
        if row is not None:
            columns = np.unique(np.flatnonzero(flags) // axes.glyphs.across)
            grid.scatter(np.full(columns.size, row), axes.left + columns, character, line_style(trace.colour_index))
