"""Renders a chart as a grid of characters: axes, references, lines, marks and crosshair."""

from dataclasses import dataclass

import numpy as np

from clarinet_tui.chart import palette
from clarinet_tui.chart.cells import (
    ALARM,
    AXIS,
    BRAILLE,
    CROSSHAIR,
    GRID,
    LABEL,
    MARK,
    POINTER,
    REFERENCE,
    ZERO,
    CellGrid,
    GlyphSet,
    band_style,
    faint_style,
    fill_rows,
    line_style,
)
from clarinet_tui.chart.columns import Columns, bin_band, bin_curve, covered_spans, drop_columns, smooth, to_heights
from clarinet_tui.chart.curve import NO_EXTENT, Curve, Flags, Floats, Indices, Reference, ReferenceLine, VerticalMark
from clarinet_tui.chart.scales import (
    Scale,
    ScaleName,
    Tick,
    axis_limits,
    linear_ticks,
    make_scale,
    round_step,
    time_ticks,
    y_ticks,
)
from clarinet_tui.text import format_duration, format_number, printable

MINIMUM_GUTTER = 6
"""Width of the y labels, so that stacked charts align."""
SHADE = "░"
"""A band without Braille, and its legend marker."""
DASH = "╍"
DASH_CELLS = 2
"""Length of the dashes of lines that coincide."""


@dataclass(frozen=True, eq=False)
class ChartSpec:
    """Everything that determines how a chart looks."""

    width: int
    height: int
    lines: tuple[Curve, ...] = ()
    references: tuple[Reference, ...] = ()
    """Bands and lines behind the lines, the first on top; the axes cover them."""
    scale_only: tuple[Reference, ...] = ()
    """Data that is not drawn but that the axes cover."""
    marks: tuple[VerticalMark, ...] = ()
    x_range: tuple[float, float] = (0.0, 1.0)
    scale: ScaleName = "linear"
    y_range: tuple[float, float] | None = None
    smoothing: float = 0.0
    """Time constant of the smoothing as a share of the width."""
    crosshair: float | None = None
    glyphs: GlyphSet = BRAILLE
    x_name: str = ""
    x_labels: bool = True
    """Whether the x axis is drawn; charts stacked above another one omit it."""
    x_is_time: bool = False


@dataclass(frozen=True)
class Axes:
    """Position of the plot area in the grid (cells), its scale, its limits (heights) and its ticks."""

    left: int
    width: int
    height: int
    x_range: tuple[float, float]
    scale: Scale
    low: float
    high: float
    ticks: tuple[Tick, ...]
    missing_row: int | None
    axis_row: int | None
    label_row: int | None
    glyphs: GlyphSet
    """Ticks and markers are placed by its dots, so that they match the lines."""

    def dot_rows(self, heights: Floats) -> Floats:
        """Return dot rows from the top, with a tiny offset so that rounding does not break lines."""
        return (self.high - heights) / (self.high - self.low) * (self.height * self.glyphs.down - 1) + 1e-6

    def cell_rows(self, heights: Floats) -> Floats:
        """Return cell rows from the top, negative or too large outside the limits."""
        return np.rint(self.dot_rows(heights)) // self.glyphs.down

    def column(self, x: float) -> int | None:
        """Return the cell column of x, or None outside the x range."""
        start, stop = self.x_range
        dots = self.width * self.glyphs.across
        dot = (x - start) / (stop - start) * (dots - 1)
        return round(dot) // self.glyphs.across if -0.5 <= dot <= dots - 0.5 else None

    def x_at(self, column: int) -> float:
        """Return x at the middle of a cell column of the grid."""
        start, stop = self.x_range
        return start + (column - self.left) / max(self.width - 1, 1) * (stop - start)


def make_axes(spec: ChartSpec) -> Axes:
    """Fit the axes to the data within the x range."""
    curves = [item for item in (*spec.lines, *spec.scale_only) if isinstance(item, Curve) and not item.filled]
    missing = any((curve.missing[_window(curve.x, spec.x_range)] > 0).any() for curve in curves) and spec.height >= 4
    axis_rows = 0 if not spec.x_labels else (2 if spec.height >= 6 else (1 if spec.height >= 3 else 0))
    height = max(1, spec.height - axis_rows - int(missing))
    scale, low, high = _limits(spec, height)
    ticks = tuple(y_ticks(scale, low, high, tick_count(height)))
    gutter = max([MINIMUM_GUTTER, *(len(tick.label) + 2 for tick in ticks)])
    gutter = gutter if spec.width >= gutter + 12 else 0
    return Axes(
        left=gutter,
        width=max(1, spec.width - gutter - (1 if gutter else 0)),
        height=height,
        x_range=spec.x_range,
        scale=scale,
        low=low,
        high=high,
        ticks=ticks if gutter and (spec.y_range or _shown_values(spec).size) else (),
        missing_row=height if missing else None,
        axis_row=spec.height - 2 if axis_rows == 2 else None,
        label_row=spec.height - 1 if axis_rows else None,
        glyphs=spec.glyphs,
    )


def tick_count(rows: int) -> int:
    return max(2, min(9, round(rows / 2.4)))


def _shown_values(spec: ChartSpec) -> Floats:
    """Return the finite values that the axes must cover."""
    parts: list[Floats] = [np.zeros(0)]
    for item in (*spec.lines, *spec.scale_only, *spec.references):
        if isinstance(item, ReferenceLine):
            parts.append(np.array([item.value]))
        else:
            window = _window(item.x, spec.x_range)
            parts += [item.low[window], item.high[window]]
    values: Floats = np.concatenate(parts)
    return values[np.isfinite(values)]


def _window(x: Floats, x_range: tuple[float, float]) -> slice:
    """Return the slice of x in the range, or the two points around it if there are none inside."""
    first, last = np.searchsorted(x, x_range[0]), np.searchsorted(x, x_range[1], side="right")
    return slice(max(0, int(first) - 1), int(last) + 1) if last <= first else slice(int(first), int(last))


def _limits(spec: ChartSpec, height: int) -> tuple[Scale, float, float]:
    values = _shown_values(spec)
    scale = make_scale(spec.scale, values)
    if spec.y_range:
        low, high = (scale.height(value) for value in spec.y_range)
        if np.isfinite(low) and np.isfinite(high) and low < high:
            return scale, low, high
    if scale.name == "log":
        values = values[values > 0]
    if not values.size:
        return scale, *((0.0, 1.0) if scale.name != "symlog" else (-1.0, 1.0))
    low, high = (scale.height(float(value)) for value in (values.min(), values.max()))
    step = round_step(high - low, tick_count(height)) if high > low else None
    return scale, *axis_limits(scale, low, high, step)


def draw_axes(grid: CellGrid, axes: Axes, spec: ChartSpec) -> None:
    """Draw grid, ticks and labels, with a solid zero line if values of both signs are shown."""
    if axes.left:
        for row in range(axes.height):
            grid.write(row, axes.left - 1, "│", AXIS)
    for tick in axes.ticks:
        row = int(axes.cell_rows(np.array([axes.scale.height(tick.value)]))[0])
        if not 0 <= row < axes.height:
            continue
        zero = tick.value == 0 and axes.low < 0 < axes.high
        grid.write(row, axes.left, ("─" if zero else "┈") * axes.width, ZERO if zero else GRID)
        grid.write(row, axes.left - len(tick.label) - 2, f"{tick.label} ┤", LABEL)
    if axes.missing_row is not None and axes.left:
        grid.write(axes.missing_row, axes.left - 5, "NaN │", AXIS)
    if axes.axis_row is not None and axes.left:
        grid.write(axes.axis_row, axes.left - 1, "╰" + "─" * axes.width, AXIS)
    if axes.label_row is not None and axes.left:
        _draw_x(grid, axes, spec, axes.label_row)
    if spec.crosshair is not None and axes.label_row is not None:
        _draw_pointer(grid, axes, spec, spec.crosshair, axes.label_row)


def _draw_x(grid: CellGrid, axes: Axes, spec: ChartSpec, label_row: int) -> None:
    count = max(2, min(12, axes.width // 11))
    ticks = time_ticks(*axes.x_range, count) if spec.x_is_time else linear_ticks(*axes.x_range, count)
    if spec.x_range == NO_EXTENT and not _shown_values(spec).size:
        ticks = []
    free = 0
    for tick in ticks:
        column = axes.column(tick.value)
        if column is None:
            continue
        if axes.axis_row is not None:
            grid.write(axes.axis_row, axes.left + column, "┬", AXIS)
        left = min(axes.left + column - len(tick.label) // 2, spec.width - len(tick.label))
        if left >= free:
            grid.write(label_row, left, tick.label, LABEL)
            free = left + len(tick.label) + 1
    if axes.axis_row is not None and spec.x_name:
        name = f" {spec.x_name}"[: axes.width]
        grid.write(axes.axis_row, spec.width - len(name), name, LABEL)


def _draw_pointer(grid: CellGrid, axes: Axes, spec: ChartSpec, x: float, label_row: int) -> None:
    """Write the crosshair's x over the labels of the axis; large numbers as integers in full."""
    column = axes.column(x)
    if column is None:
        return
    number = f"{round(x):,}".replace(",", " ") if abs(x) >= 100 else format_number(x)
    label = f" {format_duration(x) if spec.x_is_time else number} "
    left = min(max(0, axes.left + column - len(label) // 2), spec.width - len(label))
    grid.write(label_row, left, label, POINTER)


def draw_reference_lines(grid: CellGrid, axes: Axes, lines: list[ReferenceLine]) -> None:
    """Lines and bands may cover them; coloured ones are sparse, because there may be several."""
    for line in lines:
        height = axes.scale.height(line.value)
        row = axes.cell_rows(np.array([height]))[0] if np.isfinite(height) else -1
        if not 0 <= row < axes.height:
            continue
        label = f" {printable(line.label)} " if line.label else ""
        dashes = DASH if line.colour_index is None else f"{DASH}  "
        style = REFERENCE if line.colour_index is None else faint_style(line.colour_index)
        text = ((DASH + label if label else "") + dashes * axes.width)[: axes.width]
        grid.write(int(row), axes.left, text, style)


def draw_bands(grid: CellGrid, axes: Axes, bands: list[Curve]) -> None:
    """The first band is on top; where two overlap, the dots of both are drawn in the colour of the first."""
    glyphs = axes.glyphs
    patterns = np.zeros((axes.height, axes.width), dtype=np.intp)
    styles = np.zeros((axes.height, axes.width), dtype=np.int16)
    for index, band in reversed(list(enumerate(bands))):
        edges = bin_band(band, axes.x_range, axes.width * glyphs.across)
        low, high = (axes.scale.heights(edge) for edge in edges)
        # Values that the scale cannot show end at the lower limit.
        top, bottom = axes.dot_rows(high), axes.dot_rows(np.maximum(low, axes.low))
        filled = fill_rows(top, bottom, axes.height * glyphs.down)
        if band.colour_index is not None:  # tint the cells that the band fills by more than half
            share = filled.reshape(axes.height, glyphs.down, axes.width, glyphs.across).mean(axis=(1, 3))
            grid.tint(axes.left, share > 0.5, band.colour_index)
        pattern = glyphs.patterns(_sparse(filled, index) if glyphs is BRAILLE else filled)
        patterns |= pattern
        styles[pattern > 0] = REFERENCE if band.colour_index is None else band_style(band.colour_index)
    codes = glyphs.table[patterns] if glyphs is BRAILLE else np.where(patterns > 0, np.uint32(ord(SHADE)), np.uint32(0))
    grid.overlay(axes.left, codes, styles)


def _sparse(filled: Flags, index: int) -> Flags:
    """Keep one dot in eight, at different positions for each band, and a dotted edge."""
    rows, columns = (np.arange(size) for size in filled.shape)
    texture = ((rows[:, None] + 2 * (columns[None, :] // 2 % 2) + 2 * index) % 4 == 0) & (columns % 2 == index % 2)
    above, below = np.zeros_like(filled), np.zeros_like(filled)
    above[1:], below[:-1] = filled[:-1], filled[1:]
    edge = ~(above & below) & (columns % 2 == index % 2)
    sparse: Flags = filled & (texture | edge)
    return sparse


@dataclass(frozen=True, eq=False)
class RenderedChart:
    """The grid, and the position of the plot area in it."""

    grid: CellGrid
    axes: Axes


@dataclass(frozen=True, eq=False)
class _Trace:
    """A line with its binned values."""

    line: Curve
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
    draw_bands(grid, axes, [item for item in spec.references if isinstance(item, Curve) and item.filled])
    for mark in spec.marks:
        _draw_vertical(grid, axes, mark.x, "┊", ALARM if mark.is_alarm else MARK)
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


def _trace(line: Curve, index: int, spec: ChartSpec, axes: Axes) -> _Trace:
    count = axes.width * spec.glyphs.across
    colour_index = index if line.colour_index is None else line.colour_index
    raw = shown = to_heights(bin_curve(line, spec.x_range, count), axes.scale)
    if spec.smoothing > 0:
        length = spec.smoothing * count
        lead = int(np.ceil(3 * length))
        start, stop = spec.x_range
        early = start - lead * (stop - start) / max(count - 1, 1)
        wide = smooth(bin_curve(line, (early, stop), count + lead), length)
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
            to_heights(bin_curve(line, spec.x_range, count), axes.scale),
            REFERENCE if line.colour_index is None else faint_style(line.colour_index),
        )
        for line in spec.references
        if isinstance(line, Curve) and not line.filled
    ]
    _draw_lines(grid, axes, drawn)


def _label_marks(grid: CellGrid, axes: Axes, spec: ChartSpec) -> None:
    for mark in spec.marks:
        column = axes.column(mark.x)
        if column is not None:
            label = printable(mark.label)[: max(0, axes.width - column - 2)]
            grid.write(0, axes.left + column + 1, label, ALARM if mark.is_alarm else MARK)


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
