"""The axes of a chart: their limits, ticks, labels and layout."""

from dataclasses import dataclass

import numpy as np

from clarinet_tui.chart.cells import AXIS, GRID, LABEL, POINTER, ZERO, CellGrid
from clarinet_tui.chart.glyphs import GlyphSet
from clarinet_tui.chart.references import values_in_window, window_slice
from clarinet_tui.chart.scales import Scale, axis_limits, make_scale
from clarinet_tui.chart.series import NO_EXTENT, Floats, Line
from clarinet_tui.chart.spec import ChartSpec
from clarinet_tui.chart.ticks import Tick, linear_ticks, round_step, time_ticks, y_ticks
from clarinet_tui.text import format_duration, format_number


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
    lines = [item for item in (*spec.lines, *spec.scale_only) if isinstance(item, Line)]
    missing = any((line.missing[window_slice(line.x, spec.x_range)] > 0).any() for line in lines) and spec.height >= 4
    axis_rows = 0 if not spec.x_labels else (2 if spec.height >= 6 else (1 if spec.height >= 3 else 0))
    height = max(1, spec.height - axis_rows - int(missing))
    scale, low, high = _limits(spec, height)
    ticks = tuple(y_ticks(scale, low, high, tick_count(height)))
    gutter = max(max((len(tick.label) for tick in ticks), default=0) + 2, spec.gutter)
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
    items = (*spec.lines, *spec.scale_only, *spec.references)
    values: Floats = np.concatenate([np.zeros(0), *(values_in_window(item, spec.x_range) for item in items)])
    return values[np.isfinite(values)]


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
    _draw_x(grid, axes, spec)
    if spec.crosshair is not None:
        _draw_pointer(grid, axes, spec, spec.crosshair)


def _draw_x(grid: CellGrid, axes: Axes, spec: ChartSpec) -> None:
    if axes.label_row is None or not axes.left:
        return
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
            grid.write(axes.label_row, left, tick.label, LABEL)
            free = left + len(tick.label) + 1
    if axes.axis_row is not None and spec.x_name:
        name = f" {spec.x_name}"[: axes.width]
        grid.write(axes.axis_row, spec.width - len(name), name, LABEL)


def _draw_pointer(grid: CellGrid, axes: Axes, spec: ChartSpec, x: float) -> None:
    """Write the crosshair's x over the labels of the axis."""
    column = axes.column(x)
    if column is None or axes.label_row is None:
        return
    label = f" {_format_x(x, time=spec.x_is_time)} "
    left = min(max(0, axes.left + column - len(label) // 2), spec.width - len(label))
    grid.write(axes.label_row, left, label, POINTER)


def _format_x(x: float, *, time: bool) -> str:
    """Format an x value; large ones as integers in full."""
    if time:
        return format_duration(x)
    return f"{round(x):,}".replace(",", " ") if abs(x) >= 100 else format_number(x)
