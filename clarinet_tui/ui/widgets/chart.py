"""The chart as a Textual widget: its header with legend and badges, its styles, keys, mouse and messages."""

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import ClassVar

import numpy as np
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.color import Color
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.theme import Theme
from textual.widget import Widget

from clarinet_tui.chart import cells, palette
from clarinet_tui.chart.cells import BRAILLE, LABEL, PLAIN, GlyphSet, band_style, faint_style, line_style
from clarinet_tui.chart.curve import Curve, Reference, VerticalMark, extent_of
from clarinet_tui.chart.render import SHADE, Axes, ChartSpec, render_chart
from clarinet_tui.chart.scales import SCALES, Extent, ScaleName, Viewport
from clarinet_tui.text import format_number, printable
from clarinet_tui.ui.error_guard import guard_render_line
from clarinet_tui.ui.textual_private import GuardedHandlers

TITLE = -1
"""The style number of the title; those of the chart itself begin at 0."""
Piece = tuple[str, int]
"""A text and its style number."""


@dataclass(frozen=True)
class LegendEntry:
    """A line or band with its marker and value."""

    marker: str
    style: int
    name: str
    value: str = ""

    def pieces(self, *, value: bool = True, letters: int | None = None) -> list[Piece]:
        shown = (f" {self.value}" if self.name else self.value) if value and self.value else ""
        return [(f"{self.marker} ", self.style), (self.name[:letters], LABEL), (shown, PLAIN)]


def legend_entries(
    lines: tuple[Curve, ...], crosshair: float | None, references: tuple[Reference, ...] = ()
) -> list[LegendEntry]:
    """List the lines with their values at the crosshair, or else their latest values, then the named references."""
    curves = [reference for reference in references if isinstance(reference, Curve)]
    entries = []
    for index, line in enumerate(lines):
        colour_index = index if line.colour_index is None else line.colour_index
        band = next((curve for curve in curves if curve.filled and curve.colour_index == colour_index), None)
        value = format_value(line, crosshair, band)
        entries.append(LegendEntry(palette.marker(colour_index), line_style(colour_index), printable(line.name), value))
    named = (curve.name for curve in curves if curve.colour_index is None and curve.name)
    return entries + [LegendEntry(SHADE, cells.REFERENCE, printable(name)) for name in named]


def format_value(line: Curve, x: float | None, band: Curve | None) -> str:
    """Format the value at x with its range or the band's range, or without an x the latest value."""
    if x is None:
        return "" if line.last is None else format_number(line.last)
    index = line.nearest(x)
    if index is None:
        return ""
    mean, low, high = (float(values[index]) for values in (line.mean, line.low, line.high))
    if band is not None and (edges := band.edges_at(float(line.x[index]))):
        low, high = edges
    if not low < high or not np.isfinite(mean):
        return format_number(mean)
    return f"{format_number(mean)} ({format_number(low, 3)}…{format_number(high, 3)})"


def chart_header(title: str, entries: list[LegendEntry], badges: str, width: int, rows: int) -> list[list[Piece]]:
    """Lay out title, legend and badges in at most `rows` rows; drop values first, then shorten names."""
    if rows <= 0:
        return []
    for value, letters in ((True, None), (False, None), (False, 6)):
        layout = _wrap(title, [entry.pieces(value=value, letters=letters) for entry in entries], width)
        if len(layout) <= rows:
            break
    layout = layout[:rows]
    if badges:  # at the right end of the first row with room for them, or in a new row
        new_row: list[list[Piece]] = [[]] if len(layout) < rows else []
        for row in (*layout, *new_row):
            room = width - _length(row) - cell_len(badges)
            if room >= 2:
                row += [(" " * room, PLAIN), (badges, LABEL)]
                break
        layout += filter(None, new_row)
    return layout


def _wrap(title: str, groups: list[list[Piece]], width: int) -> list[list[Piece]]:
    rows: list[list[Piece]] = [[(title, TITLE)] if title else []]
    for group in groups:
        gap = 3 if rows[-1] else 0
        if rows[-1] and _length(rows[-1]) + gap + _length(group) > width:
            rows.append([])
            gap = 0
        rows[-1] += [(" " * gap, PLAIN), *group] if gap else group
    return rows


def _length(pieces: Iterable[Piece]) -> int:
    return sum(cell_len(text) for text, _ in pieces)


COMPONENT_OF = {TITLE: "chart--title"} | {
    number: f"chart--{name}" for number, name in enumerate(cells.STYLES) if number
}


def make_styles(widget: Widget, lines: tuple[Curve, ...], references: tuple[Reference, ...] = ()) -> dict[int, Style]:
    """Return a style for each number that a chart of these lines and references can use."""
    styles = {number: widget.get_component_rich_style(name) for number, name in COMPONENT_OF.items()}
    styles[PLAIN] = widget.rich_style
    background = widget.background_colors[1]
    colours = theme_palette(widget.app.current_theme)
    behind = [reference for reference in references if isinstance(reference, Curve)]
    indices = {index if line.colour_index is None else line.colour_index for index, line in enumerate(lines)}
    for index in indices | {curve.colour_index for curve in behind if curve.colour_index is not None}:
        colour = Color.parse(palette.colour(index, colours))
        for number, blend in ((line_style(index), 0.0), (faint_style(index), 0.62), (band_style(index), 0.6)):
            styles[number] = Style.from_color(colour.blend(background, blend).rich_color, background.rich_color)
    tinted: dict[int, Style] = {}
    for index in {curve.colour_index for curve in behind if curve.filled and curve.colour_index is not None}:
        tint = Style(bgcolor=background.blend(Color.parse(palette.colour(index, colours)), 0.09).rich_color)
        tinted |= {number + cells.TINT * (index + 1): style + tint for number, style in styles.items()}
    return styles | tinted


def theme_palette(theme: Theme) -> str:
    """The name of the theme's palette."""
    return theme.variables.get("chart-palette") or ("dark" if theme.dark else "light")


SMOOTHINGS = (0.0, 0.01, 0.03, 0.1)
"""Time constants of the smoothing, as shares of the width."""
SPEC_FIELDS = tuple({field.name for field in fields(ChartSpec)} - {"width", "height", "x_range", "x_ticks", "y_range"})
"""The attributes of a widget that are passed to `ChartSpec` as they are."""
RENDERED = (*SPEC_FIELDS, "title", "view", "x_range", "y_range", "min_header_rows", "empty_text", "remark")
"""All attributes that a rendered chart depends on."""


class Chart(GuardedHandlers, Widget, can_focus=True):
    """A line chart. Set `lines` and the other reactives; `clarinet_tui.chart` renders them."""

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = set(COMPONENT_OF.values())
    DEFAULT_CSS = """
    Chart { width: 1fr; height: 1fr; min-height: 3; }
    Chart > .chart--title { color: $text-muted; text-style: bold; }
    Chart:focus > .chart--title { color: $text-accent; text-style: bold; }
    Chart > .chart--axis { color: $foreground 38%; }
    Chart > .chart--label { color: $foreground-muted; }
    Chart > .chart--grid { color: $foreground 14%; }
    Chart > .chart--reference { color: $foreground 45%; }
    Chart > .chart--zero { color: $foreground 42%; }
    Chart > .chart--mark { color: $foreground-muted; }
    Chart > .chart--alarm { color: $text-warning; text-style: bold; }
    Chart > .chart--crosshair { color: $foreground-muted; }
    Chart > .chart--pointer { color: $background; background: $foreground 80%; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("plus,equals_sign", "zoom(0.5)", "Zoom in", key_display="+", id="chart.zoom_in", show=False),
        Binding("minus,underscore", "zoom(2.0)", "Zoom out", key_display="-", id="chart.zoom_out", show=False),
        Binding("h", "pan(-0.25)", "Pan left", id="chart.pan_left", show=False),
        Binding("l", "pan(0.25)", "Pan right", id="chart.pan_right", show=False),
        Binding("0", "reset", "Show everything", id="chart.reset", show=False),
        Binding("f", "follow", "Follow", id="chart.follow", tooltip="Keep the newest values in view"),
        Binding("L", "scale", "Scale", id="chart.scale", tooltip="Linear, log or symlog values"),
        Binding("m", "smooth", "Smooth", id="chart.smooth", tooltip="Smooth the lines; raw values stay visible"),
        Binding("left", "move_crosshair(-1)", "Crosshair left", id="chart.cross_left", show=False),
        Binding("right", "move_crosshair(1)", "Crosshair right", id="chart.cross_right", show=False),
        Binding("shift+left", "move_crosshair(-10)", "Crosshair far left", id="chart.cross_far_left", show=False),
        Binding("shift+right", "move_crosshair(10)", "Crosshair far right", id="chart.cross_far_right", show=False),
        Binding("escape", "hide_crosshair", "Hide crosshair", id="chart.uncross", show=False),
    ]

    @dataclass
    class ViewChanged(Message):
        """The user zoomed, panned or followed."""

        view: Viewport

    @dataclass
    class CrosshairMoved(Message):
        """The user moved the crosshair to x, or hid it."""

        x: float | None

    class Resized(Message):
        """The chart's size changed, and with it the detail that it can show."""

    title: reactive[str] = reactive("")
    lines: reactive[tuple[Curve, ...]] = reactive(())
    references: reactive[tuple[Reference, ...]] = reactive[tuple[Reference, ...]](())
    scale_only: reactive[tuple[Reference, ...]] = reactive[tuple[Reference, ...]](())
    """Curves of another chart, which count for the axes but are not drawn."""
    marks: reactive[tuple[VerticalMark, ...]] = reactive(())
    view: reactive[Viewport] = reactive(Viewport())
    scale: reactive[ScaleName] = reactive[ScaleName]("linear")
    smoothing: reactive[float] = reactive(0.0)
    crosshair: reactive[float | None] = reactive[float | None](None)
    y_range: reactive[tuple[float, float] | None] = reactive[tuple[float, float] | None](None)
    x_range: reactive[Extent | None] = reactive[Extent | None](None)
    x_name: reactive[str] = reactive("")
    x_is_time: reactive[bool] = reactive(False)
    x_labels: reactive[bool] = reactive(True)
    min_header_rows: reactive[int] = reactive(0)
    remark: reactive[str] = reactive("")
    """Shown at the right end of the header, before scale and zoom."""
    empty_text: reactive[str] = reactive("no data yet")

    def __init__(self, title: str, *, glyphs: GlyphSet = BRAILLE, classes: str | None = None) -> None:
        super().__init__(classes=classes)
        self.set_reactive(Chart.title, printable(title))
        self.glyphs = glyphs
        self._strips: list[Strip] = []
        self._rendered_state: tuple[object, ...] | None = None
        self.axes: Axes | None = None
        """The axes of the last rendering."""
        self._header_rows = 1
        self._drag: tuple[int, Viewport] | None = None
        self._hovering = False

    @property
    def extent(self) -> Extent:
        """The full range of x: `x_range`, or that of all lines."""
        return self.x_range or extent_of(self.lines)

    @property
    def window(self) -> Extent:
        """The visible range of x."""
        return self.view.window(self.extent)

    @guard_render_line
    def render_line(self, y: int) -> Strip:
        self._redraw()
        return self._strips[y] if y < len(self._strips) else Strip.blank(self.size.width, self.rich_style)

    def _redraw(self) -> None:
        """Render the chart if anything that it depends on has changed."""
        shown = (getattr(self, name) for name in RENDERED)
        state = (self.size, *shown, self.has_focus, self.rich_style, self.app.theme)
        if state == self._rendered_state:
            return
        if self._rendered_state is None or self._rendered_state[0] != self.size:
            # Posted here, because a new widget does not always get a Resize event.
            self.post_message(self.Resized())
        self._rendered_state = state
        width, height = self.size
        rows = self._header()
        rows += [[]] * (min(self.min_header_rows, self._max_header_rows) - len(rows))
        self._header_rows = len(rows)
        spec = ChartSpec(
            width,
            height - len(rows),
            x_range=self.window,
            y_range=self.y_range if self.scale == "linear" else None,
            **{name: getattr(self, name) for name in SPEC_FIELDS},
        )
        grid, axes = render_chart(spec)
        self.axes = axes
        if not any(line.x.size for line in self.lines):
            text = self.empty_text[: axes.width]
            column = axes.left + (axes.width - len(text)) // 2
            grid.write(axes.height // 2, column, text, LABEL)
        styles = make_styles(self, self.lines, self.references)
        lines = ([Segment(text, styles[style]) for text, style in row if text] for row in (*rows, *grid.spans()))
        self._strips = [Strip(segments).adjust_cell_length(width, styles[PLAIN]) for segments in lines]

    @property
    def header_rows(self) -> int:
        """The rows that title and legend need."""
        return len(self._header())

    def _header(self) -> list[list[Piece]]:
        entries = legend_entries(self.lines, self.crosshair, self.references)
        smooth = f"smooth {self.smoothing:.0%}" if self.smoothing else ""
        zoom = "" if self.view.shows_all else ("follow" if self.view.follow else "zoom")
        scale = "" if self.scale == "linear" else self.scale
        badges = " · ".join(filter(None, (self.remark, scale, smooth, zoom)))
        return chart_header(self.title, entries, badges, self.size.width, self._max_header_rows)

    @property
    def _max_header_rows(self) -> int:
        """The rows that title and legend may take."""
        height = self.size.height
        return 0 if height < 4 else max(1, height // 6)

    def _set_view(self, view: Viewport) -> None:
        if view != self.view:
            self.view = view
            self.post_message(self.ViewChanged(view))

    def _set_crosshair(self, x: float | None) -> None:
        if x != self.crosshair:
            self.crosshair = x
            self.post_message(self.CrosshairMoved(x))

    def action_zoom(self, factor: float) -> None:
        inside = self.crosshair is not None and self.window[0] <= self.crosshair <= self.window[1]
        self._set_view(self.view.zoom(factor, self.crosshair if inside else None, self.extent))

    def action_pan(self, share: float) -> None:
        self._set_view(self.view.pan(share, self.extent))

    def action_reset(self) -> None:
        self._set_view(Viewport())

    def action_follow(self) -> None:
        self._set_view(self.view.toggle_follow(self.extent))

    def action_scale(self) -> None:
        self.scale = SCALES[(SCALES.index(self.scale) + 1) % len(SCALES)]

    def action_smooth(self) -> None:
        self.smoothing = SMOOTHINGS[(SMOOTHINGS.index(self.smoothing) + 1) % len(SMOOTHINGS)]

    def action_move_crosshair(self, cells: int) -> None:
        """Move the crosshair by cells; at the edge of a zoomed window, pan the window as well."""
        start, stop = self.window
        step = (stop - start) / max((self.axes.width if self.axes else 100) - 1, 1)
        low, high = self.extent
        x = (start + stop) / 2 if self.crosshair is None else self.crosshair + cells * step
        x = min(max(x, low), high)
        if not start <= x <= stop:
            self._set_view(self.view.pan((x - (start if x < start else stop)) / (stop - start), self.extent))
        self._hovering = False
        self._set_crosshair(x)

    def action_hide_crosshair(self) -> None:
        self._set_crosshair(None)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self.crosshair is not None if action == "hide_crosshair" else True

    def _x_at(self, event: events.MouseEvent) -> float | None:
        """The x at the mouse, if it is over the plot."""
        return self.axes.x_at(event.x) if self.axes and event.y >= self._header_rows else None

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self._set_view(self.view.zoom(0.8, self._x_at(event), self.extent))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self._set_view(self.view.zoom(1.25, self._x_at(event), self.extent))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._drag = (event.x, self.view)
        self.capture_mouse()

    def on_mouse_up(self, event: events.MouseUp) -> None:
        self._drag = None
        self.release_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._drag and self.axes:
            origin, view = self._drag
            self._set_view(replace(view, follow=False).pan((origin - event.x) / self.axes.width, self.extent))
            return
        self._hovering = True
        self._set_crosshair(self._x_at(event))

    def on_leave(self, event: events.Leave) -> None:
        if self._hovering:
            self._hovering = False
            self._set_crosshair(None)
