"""Renders a chart as a grid of characters: bins points into dot columns, then draws axes, lines and marks."""

from dataclasses import dataclass, replace

import numpy as np

from clarinet_tui.chart import cells, palette, scales
from clarinet_tui.chart.cells import BRAILLE, CellGrid, GlyphSet, band_style, faint_style, fill_rows, line_style
from clarinet_tui.chart.curve import NO_EXTENT, Curve, Flags, Floats, Indices, Reference, ReferenceLine, VerticalMark
from clarinet_tui.chart.scales import Scale, ScaleName, Ticks
from clarinet_tui.text import format_duration, format_number, printable


@dataclass(frozen=True, eq=False)
class Columns:
    """One value for each dot column; NaN where the line has none."""

    low: Floats
    high: Floats
    mean: Floats
    missing: Flags
    below: Flags
    """Values that the scale cannot show."""
    before: tuple[float, float] | None = None
    after: tuple[float, float] | None = None
    """The nearest points outside the x range (column, value): a line without a point inside it is still drawn."""


def bin_curve(curve: Curve, window: tuple[float, float], count: int) -> Columns:
    """Bin the curve's points within the window into `count` columns of equal width."""
    start, width = window[0], (window[1] - window[0]) / max(count - 1, 1)
    cuts = np.searchsorted(curve.x, start + (np.arange(count + 1) - 0.5) * width)
    inside = slice(int(cuts[0]), int(cuts[-1]))
    filled = np.flatnonzero(cuts[1:] > cuts[:-1])

    def reduce(function: np.ufunc, values: Floats) -> Floats:
        """Reduce the values of each column; NaN for columns without points."""
        result = np.full(count, np.nan)
        if filled.size:
            result[filled] = function.reduceat(values, cuts[filled] - inside.start)
        return result

    def point(index: int) -> tuple[float, float] | None:
        """Return the column and value of a point outside the window, or None if it has no value."""
        if not 0 <= index < curve.x.size or not np.isfinite(curve.mean[index]):
            return None
        return float((curve.x[index] - start) / width), float(curve.mean[index])

    mean = curve.mean[inside]
    known = ~np.isnan(mean)
    total, number = reduce(np.add, np.where(known, mean, 0.0)), reduce(np.add, known * 1.0)
    return Columns(
        low=reduce(np.fmin, curve.low[inside]),
        high=reduce(np.fmax, curve.high[inside]),
        mean=np.where(number > 0, total / np.fmax(number, 1.0), np.nan),
        missing=reduce(np.fmax, curve.missing[inside]) > 0,
        below=np.zeros(count, dtype=np.bool_),
        before=point(inside.start - 1),
        after=point(inside.stop),
    )


def bin_band(band: Curve, window: tuple[float, float], count: int) -> tuple[Floats, Floats]:
    """Bin the edges of a band into `count` columns, with linear interpolation between points."""
    columns = bin_curve(band, window, count)
    grid = window[0] + np.arange(count) * ((window[1] - window[0]) / max(count - 1, 1))
    low, high = (np.interp(grid, band.x, edge, np.nan, np.nan) for edge in (band.low, band.high))
    return np.fmin(low, columns.low), np.fmax(high, columns.high)


def smooth(curve: Curve, window: tuple[float, float], count: int, length: float) -> Columns:
    """Bin the curve, and average it exponentially with a time constant of `length` columns; gaps stay gaps.

    Weights depend on the distance along x, not on the number of points, so dense and sparse lines are smoothed alike.
    """
    lead = int(np.ceil(3 * length))  # columns before the window, which only serve the smoothing
    start, stop = window
    columns = bin_curve(curve, (start - lead * (stop - start) / max(count - 1, 1), stop), count + lead)
    known, size = ~np.isnan(columns.mean), count + lead
    kernel = np.exp(-np.arange(min(int(np.ceil(6 * length)) + 1, size)) / length)
    weighted = np.convolve(np.where(known, columns.mean, 0.0), kernel)[:size]
    weights = np.convolve(known * 1.0, kernel)[:size]
    mean = np.full(size, np.nan)
    mean[known] = weighted[known] / weights[known]
    earlier = np.flatnonzero(known[:lead])
    before = (float(earlier[-1] - lead), float(mean[earlier[-1]])) if earlier.size else None
    mean = mean[lead:]
    return Columns(mean, mean, mean, columns.missing[lead:], columns.below[lead:], before)


def to_heights(columns: Columns, scale: Scale) -> Columns:
    """Transform the columns to heights of the scale; values that it cannot show are flagged as below."""
    if scale.name == "linear":
        return columns
    low, high, mean = (scale.heights(values) for values in (columns.low, columns.high, columns.mean))
    below = np.isneginf(low)
    low, high, mean = (np.where(np.isneginf(values), np.nan, values) for values in (low, high, mean))
    anchors = [point and (point[0], scale.height(point[1])) for point in (columns.before, columns.after)]
    before, after = (point if point and np.isfinite(point[1]) else None for point in anchors)
    # Where the scale can show the highest value but not the mean, draw the line at the highest value.
    low, mean = (np.where(np.isnan(values), high, values) for values in (low, mean))
    return replace(columns, low=low, high=high, mean=mean, below=below, before=before, after=after)


def covered_spans(columns: Columns) -> tuple[Floats, Floats]:
    """Return the lowest and highest height that the line covers in each column.

    A column covers its own range and half of the segment to each neighbour, so that a steep line has no holes. No
    segment is drawn across a column whose values are all missing.
    """
    count = columns.mean.size
    known = np.flatnonzero(~np.isnan(columns.mean))
    positions, values = known.astype(np.float64), columns.mean[known]
    if columns.before:
        positions, values = np.r_[columns.before[0], positions], np.r_[columns.before[1], values]
    if columns.after:
        positions, values = np.r_[positions, columns.after[0]], np.r_[values, columns.after[1]]
    if not positions.size:
        return columns.low, columns.high
    empty = np.isnan(columns.mean) & (columns.missing | columns.below)
    breaks = np.r_[0, np.cumsum(empty)]
    low, high = columns.low, columns.high
    grid = np.arange(count, dtype=np.float64)
    for shift in (-0.5, 0.0, 0.5):
        at = grid + shift
        right = np.clip(np.searchsorted(positions, at), 1, max(positions.size - 1, 1))
        left = right - 1
        ends = np.clip(positions[[left, np.minimum(right, positions.size - 1)]] + 1, 0, count).astype(np.intp)
        connected = (breaks[ends[0]] == breaks[ends[1]]) & (at >= positions[0]) & (at <= positions[-1])
        segment = np.where(connected, np.interp(at, positions, values), np.nan)
        low, high = np.fmin(low, segment), np.fmax(high, segment)
    return low, high


SHADE = "░"
"""A band without Braille, and its legend marker."""
DASH = "╍"


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
    x_ticks: Ticks | None = None
    """The labels of the x axis, by their x; round numbers if it is None."""


@dataclass(frozen=True)
class Axes:
    """Position of the plot area in the grid (cells), its scale, its limits (heights) and its ticks."""

    spec: ChartSpec
    left: int
    width: int
    height: int
    scale: Scale
    low: float
    high: float
    ticks: Ticks
    missing_row: int | None
    axis_row: int | None
    label_row: int | None

    def dot_rows(self, heights: Floats) -> Floats:
        """Return dot rows from the top, with a tiny offset so that rounding does not break lines."""
        return (self.high - heights) / (self.high - self.low) * (self.height * self.spec.glyphs.down - 1) + 1e-6

    def cell_rows(self, heights: Floats) -> Floats:
        """Return cell rows from the top, negative or too large outside the limits."""
        return np.rint(self.dot_rows(heights)) // self.spec.glyphs.down

    def column(self, x: float) -> int | None:
        """Return the cell column of x, or None outside the x range."""
        start, stop = self.spec.x_range
        dots = self.width * self.spec.glyphs.across
        dot = (x - start) / (stop - start) * (dots - 1)
        return round(dot) // self.spec.glyphs.across if -0.5 <= dot <= dots - 0.5 else None

    def x_at(self, column: int) -> float | None:
        """Return x at the middle of a cell column of the grid, or None outside the plot area."""
        start, stop = self.spec.x_range
        share = (column - self.left) / max(self.width - 1, 1)
        return start + share * (stop - start) if 0 <= column - self.left < self.width else None


def make_axes(spec: ChartSpec) -> Axes:
    """Fit the axes to the data within the x range."""
    curves = [item for item in (*spec.lines, *spec.scale_only) if isinstance(item, Curve) and not item.filled]
    missing = any((curve.missing[_window(curve.x, spec.x_range)] > 0).any() for curve in curves) and spec.height >= 4
    axis_rows = 0 if not spec.x_labels else (2 if spec.height >= 6 else (1 if spec.height >= 3 else 0))
    height = max(1, spec.height - axis_rows - int(missing))
    scale, low, high = _limits(spec, height)
    ticks = scales.y_ticks(scale, low, high, tick_count(height))
    gutter = max([6, *(len(label) + 2 for label in ticks.values())])  # at least 6, so that stacked charts align
    gutter = gutter if spec.width >= gutter + 12 else 0
    return Axes(
        spec,
        left=gutter,
        width=max(1, spec.width - gutter - (1 if gutter else 0)),
        height=height,
        scale=scale,
        low=low,
        high=high,
        ticks=ticks if gutter and (spec.y_range or _shown_values(spec).size) else {},
        missing_row=height if missing else None,
        axis_row=spec.height - 2 if axis_rows == 2 else None,
        label_row=spec.height - 1 if axis_rows else None,
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
    scale = scales.make_scale(spec.scale, values)
    if spec.y_range:
        low, high = (scale.height(value) for value in spec.y_range)
        if np.isfinite(low) and np.isfinite(high) and low < high:
            return scale, low, high
    if scale.name == "log":
        values = values[values > 0]
    if not values.size:
        return scale, *((0.0, 1.0) if scale.name != "symlog" else (-1.0, 1.0))
    low, high = (scale.height(float(value)) for value in (values.min(), values.max()))
    if low == high:
        margin = max(abs(low) * 0.1, 1e-12) if low else 1.0
    elif scale.name == "linear":  # round limits, so that new values rarely move them
        half = scales.round_step(high - low, tick_count(height)) / 2
        return scale, float(np.floor(low / half + 1e-9) * half), float(np.ceil(high / half - 1e-9) * half)
    else:
        margin = (high - low) * 0.04
    return scale, low - margin, high + margin


def draw_axes(grid: CellGrid, axes: Axes) -> None:
    """Draw grid, ticks and labels, with a solid zero line if values of both signs are shown."""
    spec = axes.spec
    if axes.left:
        for row in range(axes.height):
            grid.write(row, axes.left - 1, "│", cells.AXIS)
    for value, label in axes.ticks.items():
        row = int(axes.cell_rows(np.array([axes.scale.height(value)]))[0])
        if not 0 <= row < axes.height:
            continue
        zero = value == 0 and axes.low < 0 < axes.high
        grid.write(row, axes.left, ("─" if zero else "┈") * axes.width, cells.ZERO if zero else cells.GRID)
        grid.write(row, axes.left - len(label) - 2, f"{label} ┤", cells.LABEL)
    if axes.missing_row is not None and axes.left:
        grid.write(axes.missing_row, axes.left - 5, "NaN │", cells.AXIS)
    if axes.axis_row is not None and axes.left:
        grid.write(axes.axis_row, axes.left - 1, "╰" + "─" * axes.width, cells.AXIS)
    if axes.label_row is not None and axes.left:
        _draw_x(grid, axes, axes.label_row)
    if spec.crosshair is not None and axes.label_row is not None:
        # The crosshair's x covers the labels of the axis; large numbers are integers in full.
        x, column = spec.crosshair, axes.column(spec.crosshair)
        if column is not None:
            number = f"{round(x):,}".replace(",", " ") if abs(x) >= 100 else format_number(x)
            label = f" {format_duration(x) if spec.x_is_time else number} "
            left = min(max(0, axes.left + column - len(label) // 2), spec.width - len(label))
            grid.write(axes.label_row, left, label, cells.POINTER)


def _draw_x(grid: CellGrid, axes: Axes, label_row: int) -> None:
    spec = axes.spec
    count = max(2, min(12, axes.width // 11))
    ticks = scales.time_ticks(*spec.x_range, count) if spec.x_is_time else scales.linear_ticks(*spec.x_range, count)
    ticks = ticks if spec.x_ticks is None else spec.x_ticks
    if spec.x_range == NO_EXTENT and not _shown_values(spec).size:
        ticks = {}
    free = 0
    for value, label in ticks.items():
        column = axes.column(value)
        if column is None:
            continue
        if axes.axis_row is not None:
            grid.write(axes.axis_row, axes.left + column, "┬", cells.AXIS)
        left = min(axes.left + column - len(label) // 2, spec.width - len(label))
        if left >= free:
            grid.write(label_row, left, label, cells.LABEL)
            free = left + len(label) + 1
    if axes.axis_row is not None and spec.x_name:
        name = f" {spec.x_name}"[: axes.width]
        grid.write(axes.axis_row, spec.width - len(name), name, cells.LABEL)


def draw_reference_lines(grid: CellGrid, axes: Axes) -> None:
    """Lines and bands may cover them; coloured ones are sparse, because there may be several."""
    for line in (item for item in axes.spec.references if isinstance(item, ReferenceLine)):
        height = axes.scale.height(line.value)
        row = axes.cell_rows(np.array([height]))[0] if np.isfinite(height) else -1
        if not 0 <= row < axes.height:
            continue
        label = f" {printable(line.label)} " if line.label else ""
        dashes = DASH if line.colour_index is None else f"{DASH}  "
        text = ((DASH + label if label else "") + dashes * axes.width)[: axes.width]
        grid.write(int(row), axes.left, text, faint_style(line.colour_index))


def draw_bands(grid: CellGrid, axes: Axes) -> None:
    """The first band is on top; where two overlap, the dots of both are drawn in the colour of the first."""
    glyphs = axes.spec.glyphs
    bands = [item for item in axes.spec.references if isinstance(item, Curve) and item.filled and item.x.size]
    patterns = np.zeros((axes.height, axes.width), dtype=np.intp)
    styles = np.zeros((axes.height, axes.width), dtype=np.int16)
    for index, band in reversed(list(enumerate(bands))):
        edges = bin_band(band, axes.spec.x_range, axes.width * glyphs.across)
        low, high = (axes.scale.heights(edge) for edge in edges)
        # Values that the scale cannot show end at the lower limit.
        top, bottom = axes.dot_rows(high), axes.dot_rows(np.maximum(low, axes.low))
        filled = fill_rows(top, bottom, axes.height * glyphs.down)
        if band.colour_index is not None:  # tint the cells that the band fills by more than half
            share = filled.reshape(axes.height, glyphs.down, axes.width, glyphs.across).mean(axis=(1, 3))
            grid.tint(axes.left, share > 0.5, band.colour_index)
        pattern = glyphs.patterns(_sparse(filled, index) if glyphs is BRAILLE else filled)
        patterns |= pattern
        styles[pattern > 0] = band_style(band.colour_index)
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
class _Trace:
    """A line with its binned values."""

    line: Curve
    colour_index: int
    raw: Columns
    shown: Columns
    """Smoothed values, or the raw ones without smoothing."""


def render_chart(spec: ChartSpec) -> tuple[CellGrid, Axes]:
    """Return the rendered chart, and the position of the plot area in it; the first line is on top."""
    axes = make_axes(spec)
    grid = CellGrid(spec.width, spec.height)
    draw_axes(grid, axes)
    count = axes.width * spec.glyphs.across

    def bin_heights(curve: Curve) -> Columns:
        return to_heights(bin_curve(curve, spec.x_range, count), axes.scale)

    traces = []
    for index, line in enumerate(spec.lines):
        raw = shown = bin_heights(line)
        if spec.smoothing > 0:
            shown = to_heights(smooth(line, spec.x_range, count, spec.smoothing * count), axes.scale)
        traces.append(_Trace(line, index if line.colour_index is None else line.colour_index, raw, shown))
    draw_reference_lines(grid, axes)
    draw_bands(grid, axes)
    for mark in spec.marks:
        _draw_vertical(grid, axes, mark.x, "┊", cells.ALARM if mark.is_alarm else cells.MARK)
    dimmed = (item for item in spec.references if isinstance(item, Curve) and not item.filled)
    _draw_lines(grid, axes, [(bin_heights(line), faint_style(line.colour_index)) for line in dimmed])
    if spec.smoothing > 0:
        _draw_lines(grid, axes, [(trace.raw, faint_style(trace.colour_index)) for trace in traces])
    _draw_lines(grid, axes, [(trace.shown, line_style(trace.colour_index)) for trace in traces], dashed=True)
    for mark in spec.marks:
        column = axes.column(mark.x)
        if column is not None:
            label = printable(mark.label)[: max(0, axes.width - column - 2)]
            grid.write(0, axes.left + column + 1, label, cells.ALARM if mark.is_alarm else cells.MARK)
    if spec.crosshair is not None:
        _draw_vertical(grid, axes, spec.crosshair, "│", cells.CROSSHAIR)
    for index, trace in reversed(list(enumerate(traces))):
        _draw_markers(grid, axes, trace, index, len(traces))
        _draw_non_finite(grid, axes, trace)
    return grid, axes


def _draw_lines(grid: CellGrid, axes: Axes, lines: list[tuple[Columns, int]], *, dashed: bool = False) -> None:
    """A cell that several lines cross shows the dots of all, in the colour of the first.

    Dashed, lines that coincide take turns along x, so that each of them can be seen.
    """
    patterns = np.zeros((axes.height, axes.width), dtype=np.intp)
    styles = np.zeros((axes.height, axes.width), dtype=np.int16)
    crossed = np.zeros((axes.height, axes.width), dtype=np.intp)
    turn = np.arange(axes.width) // 2  # dashes of two cells
    for columns, style in reversed(lines):
        low, high = covered_spans(columns)
        dots = fill_rows(axes.dot_rows(high), axes.dot_rows(low), axes.height * axes.spec.glyphs.down)
        pattern = axes.spec.glyphs.patterns(dots)
        patterns |= pattern
        crossed += pattern > 0
        on_top = (crossed == 1) | (turn % np.maximum(crossed, 1) == 0) if dashed else True
        styles[(pattern > 0) & on_top] = style
    grid.overlay(axes.left, axes.spec.glyphs.table[patterns], styles)


def _draw_vertical(grid: CellGrid, axes: Axes, x: float, character: str, style: int) -> None:
    """Draw a line over bands but below lines."""
    column = axes.column(x)
    if column is not None:
        area = slice(axes.height), axes.left + column
        styles = grid.styles[area]
        free = (styles <= cells.CROSSHAIR) | ((styles > cells.POINTER) & ((styles - band_style(0)) % 3 == 0))
        grid.codes[area][free], styles[free] = ord(character), style


def _draw_markers(grid: CellGrid, axes: Axes, trace: _Trace, index: int, lines: int) -> None:
    """Draw markers on every point if there is room, else at intervals; always on the last point and the crosshair."""
    spec, mean = axes.spec, trace.shown.mean
    columns = _marker_columns(mean, axes.width, spec.glyphs.across, index, lines)
    nearest = trace.line.nearest(spec.crosshair) if spec.crosshair is not None else None
    if nearest is not None:
        start, stop = spec.x_range
        column = int(np.rint((trace.line.x[nearest] - start) / (stop - start) * (mean.size - 1)))
        if 0 <= column < mean.size and not np.isnan(mean[column]):
            columns = np.r_[columns, column]
    rows = axes.cell_rows(mean[columns])
    inside = (rows >= 0) & (rows < axes.height)
    inner = rows[inside].astype(np.intp), axes.left + columns[inside] // spec.glyphs.across
    grid.scatter(*inner, palette.marker(trace.colour_index), line_style(trace.colour_index))


def _marker_columns(mean: Floats, width: int, across: int, index: int, lines: int) -> Indices:
    known = np.flatnonzero(~np.isnan(mean))
    if known.size <= max(1, width // 4):
        # Lines take turns, so that coinciding lines can be distinguished.
        return known if known.size <= lines else np.unique(np.r_[known[index % lines :: lines], known[-1]])
    gap = max(12, width // 6) * across
    targets = np.arange((index + 1) * gap // (lines + 1), known[-1], gap)
    return np.unique(np.r_[known[np.minimum(np.searchsorted(known, targets), known.size - 1)], known[-1]])


def _draw_non_finite(grid: CellGrid, axes: Axes, trace: _Trace) -> None:
    """Draw arrows at the lower edge for values that the scale cannot show, and × in a separate row for NaN."""
    raw = trace.raw
    for flags, row, character in ((raw.below, axes.height - 1, "▼"), (raw.missing, axes.missing_row, "×")):
        if row is not None:
            columns = np.unique(np.flatnonzero(flags) // axes.spec.glyphs.across)
            grid.scatter(np.full(columns.size, row), axes.left + columns, character, line_style(trace.colour_index))
