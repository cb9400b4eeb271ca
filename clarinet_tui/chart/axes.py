"""The axes of a chart: which values its edges have, where its ticks are, and how much room they take."""

from dataclasses import dataclass

import numpy as np

from clarinet_tui.chart.cells import AXIS, GRID, LABEL, POINTER, ZERO, Field
from clarinet_tui.chart.references import Behind, inside, reach
from clarinet_tui.chart.scales import Scale, fit, limits
from clarinet_tui.chart.series import Floats, Line
from clarinet_tui.chart.spec import Plan
from clarinet_tui.chart.ticks import Tick, linear_ticks, step_for, time_ticks, y_ticks
from clarinet_tui.text import duration, number


@dataclass(frozen=True)
class Axes:
    """The plot's place in the field (cells), its scale, edges (heights) and ticks."""

    left: int
    top: int
    width: int
    height: int
    window: tuple[float, float]
    scale: Scale
    low: float
    high: float
    ticks: tuple[Tick, ...]
    missing_row: int | None
    axis_row: int | None
    label_row: int | None
    across: int
    down: int
    """Dots a cell: what stands in a cell is placed by dots, so that ticks and markers meet the lines."""

    def dot_rows(self, heights: Floats) -> Floats:
        """Heights as rows of dots from the top; a hair below, so that rounding never tears a line."""
        return (self.high - heights) / (self.high - self.low) * (self.height * self.down - 1) + 1e-6

    def cell_rows(self, heights: Floats) -> Floats:
        """Heights as rows of cells from the top; beyond the edges they are below 0 or too large."""
        return np.rint(self.dot_rows(heights)) // self.down

    def column(self, x: float) -> int | None:
        """The cell column of x, if it is in the window."""
        start, stop = self.window
        dots = self.width * self.across
        place = (x - start) / (stop - start) * (dots - 1)
        return round(place) // self.across if -0.5 <= place <= dots - 0.5 else None

    def x_at(self, column: int) -> float:
        """The x in the middle of a cell column of the field."""
        start, stop = self.window
        return start + (column - self.left) / max(self.width - 1, 1) * (stop - start)


def make_axes(plan: Plan) -> Axes:
    """Fits the axes to what the window shows."""
    counted = (*plan.lines, *plan.beside, *plan.behind)
    missing = any(
        bool((line.missing[inside(line.x, plan.window)] > 0).any())
        for line in (*plan.lines, *plan.beside)
        if isinstance(line, Line)
    )
    axis_rows = 0 if not plan.x_labels else (2 if plan.height >= 6 else (1 if plan.height >= 3 else 0))
    height = max(1, plan.height - axis_rows - (1 if missing and plan.height >= 4 else 0))
    scale, low, high = _edges(plan, counted, height)
    ticks = tuple(y_ticks(scale, low, high, tick_count(height)))
    gutter = max(max((len(tick.label) for tick in ticks), default=0) + 2, plan.gutter)
    gutter = gutter if plan.width >= gutter + 12 else 0
    return Axes(
        left=gutter,
        top=0,
        width=max(1, plan.width - gutter - (1 if gutter else 0)),
        height=height,
        window=plan.window,
        scale=scale,
        low=low,
        high=high,
        ticks=ticks if gutter else (),
        missing_row=height if missing and plan.height >= 4 else None,
        axis_row=plan.height - 2 if axis_rows == 2 else None,
        label_row=plan.height - 1 if axis_rows else None,
        across=plan.glyphs.across,
        down=plan.glyphs.down,
    )


def tick_count(rows: int) -> int:
    return max(2, min(9, round(rows / 2.4)))


def _edges(plan: Plan, counted: tuple[Behind, ...], height: int) -> tuple[Scale, float, float]:
    values = np.concatenate([reach(thing, plan.window) for thing in counted]) if counted else np.zeros(0)
    values = values[np.isfinite(values)]
    scale = fit(plan.scale, values)
    if plan.y_range:
        low, high = (scale.height(value) for value in plan.y_range)
        if np.isfinite(low) and np.isfinite(high) and low < high:
            return scale, low, high
    if scale.name == "log":
        values = values[values > 0]
    if not values.size:
        return scale, *((0.0, 1.0) if scale.name != "symlog" else (-1.0, 1.0))
    low, high = (scale.height(float(value)) for value in (values.min(), values.max()))
    step = step_for(high - low, tick_count(height)) if high > low else None
    return scale, *limits(scale, low, high, step)


def draw_axes(canvas: Field, axes: Axes, plan: Plan) -> None:
    """Grid, ticks and labels; the zero line is stronger where signs matter."""
    if axes.left:
        for row in range(axes.height):
            canvas.put(axes.top + row, axes.left - 1, "│", AXIS)
    for tick in axes.ticks:
        row = int(axes.cell_rows(np.array([axes.scale.height(tick.value)]))[0])
        if not 0 <= row < axes.height:
            continue
        zero = tick.value == 0 and axes.low < 0 < axes.high
        canvas.put(axes.top + row, axes.left, ("─" if zero else "┈") * axes.width, ZERO if zero else GRID)
        canvas.put(axes.top + row, axes.left - 1 - len(tick.label) - 1, f"{tick.label} ┤", LABEL)
    if axes.missing_row is not None and axes.left:
        canvas.put(axes.missing_row, axes.left - 5, "NaN │", AXIS)
    if axes.axis_row is not None and axes.left:
        canvas.put(axes.axis_row, axes.left - 1, "╰" + "─" * axes.width, AXIS)
    _draw_x(canvas, axes, plan)
    if plan.crosshair is not None:
        _draw_pointer(canvas, axes, plan)


def _draw_x(canvas: Field, axes: Axes, plan: Plan) -> None:
    if axes.label_row is None or not axes.left:
        return
    count = max(2, min(12, axes.width // 11))
    ticks = time_ticks(*axes.window, count) if plan.x_is_time else linear_ticks(*axes.window, count)
    free = 0
    for tick in ticks:
        column = axes.column(tick.value)
        if column is None:
            continue
        if axes.axis_row is not None:
            canvas.put(axes.axis_row, axes.left + column, "┬", AXIS)
        place = min(axes.left + column - len(tick.label) // 2, plan.width - len(tick.label))
        if place >= free:
            canvas.put(axes.label_row, place, tick.label, LABEL)
            free = place + len(tick.label) + 1
    if axes.axis_row is not None and plan.x_name:
        name = f" {plan.x_name}"[: axes.width]
        canvas.put(axes.axis_row, plan.width - len(name), name, LABEL)


def _draw_pointer(canvas: Field, axes: Axes, plan: Plan) -> None:
    """The crosshair's x, written over the labels of the axis."""
    column = axes.column(plan.crosshair or 0.0)
    if column is None or axes.label_row is None:
        return
    label = f" {x_label(plan.crosshair or 0.0, time=plan.x_is_time)} "
    place = min(max(0, axes.left + column - len(label) // 2), plan.width - len(label))
    canvas.put(axes.label_row, place, label, POINTER)


def x_label(x: float, *, time: bool) -> str:
    """An x as a reading: whole numbers in full."""
    if time:
        return duration(x)
    return f"{round(x):,}".replace(",", " ") if abs(x) >= 100 else number(x)
