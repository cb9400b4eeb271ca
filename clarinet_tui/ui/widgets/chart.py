"""The chart as a Textual widget: keys, mouse, messages and strips."""

from dataclasses import dataclass, replace
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from clarinet_tui.chart.axes import Axes
from clarinet_tui.chart.cells import LABEL, PLAIN
from clarinet_tui.chart.glyphs import BRAILLE, Glyphs
from clarinet_tui.chart.legend import Piece, entries, header
from clarinet_tui.chart.references import Behind
from clarinet_tui.chart.render import draw
from clarinet_tui.chart.scales import SCALES, ScaleName
from clarinet_tui.chart.series import Line, Mark, extent_of
from clarinet_tui.chart.spec import Plan
from clarinet_tui.chart.viewport import Extent, View
from clarinet_tui.text import printable
from clarinet_tui.ui.error_guard import Guarded, drawn_carefully
from clarinet_tui.ui.widgets.chart_styles import COMPONENTS, Styles, make_styles

SMOOTHINGS = (0.0, 0.01, 0.03, 0.1)
"""How far smoothing reaches back, as shares of the width."""

SHOWN = (
    *("title", "lines", "behind", "beside", "marks", "view", "scale", "smoothing", "crosshair", "x_range", "y_range"),
    *("x_name", "x_is_time", "x_labels", "least_header", "empty_text", "remark"),
)
"""The reactives that decide the picture."""


class Chart(Guarded, Widget, can_focus=True):
    """A chart of lines. Set `lines`, and whatever else of its reactives should change; see the package for the rest."""

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = COMPONENTS
    DEFAULT_CSS = """
    Chart { width: 1fr; height: 1fr; min-height: 3; }
    Chart > .chart--title { color: $text-muted; text-style: bold; }
    Chart:focus > .chart--title { color: $text-accent; text-style: bold; }
    Chart > .chart--axis { color: $foreground 38%; }
    Chart > .chart--label { color: $foreground-muted; }
    Chart > .chart--grid { color: $foreground 14%; }
    Chart > .chart--ghost { color: $foreground 45%; }
    Chart > .chart--zero { color: $foreground 42%; }
    Chart > .chart--mark { color: $foreground-muted; }
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
        Binding("m", "smooth", "Smooth", id="chart.smooth", tooltip="Smooth the lines; raw values stay behind them"),
        Binding("left", "cross(-1)", "Crosshair left", id="chart.cross_left", show=False),
        Binding("right", "cross(1)", "Crosshair right", id="chart.cross_right", show=False),
        Binding("shift+left", "cross(-10)", "Crosshair far left", id="chart.cross_far_left", show=False),
        Binding("shift+right", "cross(10)", "Crosshair far right", id="chart.cross_far_right", show=False),
        Binding("escape", "uncross", "Hide crosshair", id="chart.uncross", show=False),
    ]

    @dataclass
    class ViewChanged(Message):
        """The user has zoomed, panned or followed. `window` is what is now shown of x."""

        chart: "Chart"
        view: View
        window: Extent

        @property
        def control(self) -> "Chart":
            return self.chart

    @dataclass
    class CrosshairMoved(Message):
        """The user has moved the crosshair to x, or hidden it."""

        chart: "Chart"
        x: float | None

        @property
        def control(self) -> "Chart":
            return self.chart

    @dataclass
    class RoomChanged(Message):
        """The chart has another size: it can show more detail, or less."""

        chart: "Chart"

        @property
        def control(self) -> "Chart":
            return self.chart

    title: reactive[str] = reactive("")
    lines: reactive[tuple[Line, ...]] = reactive(())
    behind: reactive[tuple[Behind, ...]] = reactive[tuple[Behind, ...]](())
    beside: reactive[tuple[Behind, ...]] = reactive[tuple[Behind, ...]](())
    marks: reactive[tuple[Mark, ...]] = reactive(())
    view: reactive[View] = reactive(View())
    scale: reactive[ScaleName] = reactive[ScaleName]("linear")
    smoothing: reactive[float] = reactive(0.0)
    crosshair: reactive[float | None] = reactive[float | None](None)
    y_range: reactive[tuple[float, float] | None] = reactive[tuple[float, float] | None](None)
    x_range: reactive[Extent | None] = reactive[Extent | None](None)
    x_name: reactive[str] = reactive("")
    x_is_time: reactive[bool] = reactive(False)
    x_labels: reactive[bool] = reactive(True)
    least_header: reactive[int] = reactive(0)
    remark: reactive[str] = reactive("")
    empty_text: reactive[str] = reactive("nothing to draw yet")

    def __init__(
        self,
        title: str = "",
        *,
        glyphs: Glyphs = BRAILLE,
        label_width: int = 6,
        id: str | None = None,  # noqa: A002
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.set_reactive(Chart.title, printable(title))
        self.glyphs = glyphs
        self.label_width = label_width
        self._strips: list[Strip] = []
        self._drawn: tuple[object, ...] | None = None
        self.axes: Axes | None = None
        """Of the last picture."""
        self._header_rows = 1
        self._drag: tuple[int, View] | None = None
        self._hovering = False

    @property
    def extent(self) -> Extent:
        """All of x that there is: as told, or as the lines here and beside have it."""
        return self.x_range or extent_of((*self.lines, *(thing for thing in self.beside if isinstance(thing, Line))))

    @property
    def window(self) -> Extent:
        """What is shown of x."""
        return self.view.window(self.extent)

    @drawn_carefully
    def render_line(self, y: int) -> Strip:
        self._redraw()
        return self._strips[y] if y < len(self._strips) else Strip.blank(self.size.width, self.rich_style)

    def _redraw(self) -> None:
        """Draws again if anything that decides the picture has changed since the last time."""
        shown = tuple(getattr(self, name) for name in SHOWN)
        state = (self.size, *shown, self.has_focus, self.glyphs, self.rich_style, self.app.theme)
        if state == self._drawn:
            return
        if self._drawn is None or self._drawn[0] != self.size:
            # Said here, because a widget that is new on the screen does not always get a Resize event.
            self.post_message(self.RoomChanged(self))
        self._drawn = state
        width, height = self.size
        rows = self._header()
        rows += [[(" " * width, PLAIN)]] * (min(self.least_header, self._room(self.size)) - len(rows))
        self._header_rows = len(rows)
        picture = draw(self._plan(width, height - len(rows)))
        self.axes = picture.axes
        if not any(line.x.size for line in self.lines):
            text = self.empty_text[: picture.axes.width]
            column = picture.axes.left + (picture.axes.width - len(text)) // 2
            picture.field.put(picture.axes.height // 2, column, text, LABEL)
        styles = make_styles(self, self.lines, self.behind)
        self._strips = [_strip(row, styles, width) for row in (*rows, *picture.field.runs())]

    def _plan(self, width: int, height: int) -> Plan:
        return Plan(
            width=width,
            height=height,
            lines=self.lines,
            behind=self.behind,
            beside=self.beside,
            marks=self.marks,
            window=self.window,
            scale=self.scale,
            y_range=self.y_range if self.scale == "linear" else None,
            smoothing=self.smoothing,
            crosshair=self.crosshair,
            glyphs=self.glyphs,
            x_name=self.x_name,
            x_is_time=self.x_is_time,
            x_labels=self.x_labels,
            gutter=self.label_width,
        )

    @property
    def header_rows(self) -> int:
        """How many rows title and legend need."""
        return len(self._header())

    def _header(self) -> list[list[Piece]]:
        listed = entries(self.lines, self.crosshair, self.behind)
        return header(self.title, listed, self._badges(), self.size.width, self._room(self.size))

    def _room(self, size: Size) -> int:
        """How many rows title and legend may take."""
        return 0 if size.height < 4 else (1 if size.height < 9 else max(1, size.height // 6))

    def _badges(self) -> str:
        smooth = f"smooth {self.smoothing:.0%}" if self.smoothing else ""
        zoom = "" if self.view.whole else ("follow" if self.view.follow else "zoom")
        scale = "" if self.scale == "linear" else self.scale
        return " · ".join(filter(None, (self.remark, scale, smooth, zoom)))

    def _look(self, view: View) -> None:
        if view != self.view:
            self.view = view
            self.post_message(self.ViewChanged(self, view, self.window))

    def _cross(self, x: float | None) -> None:
        if x != self.crosshair:
            self.crosshair = x
            self.post_message(self.CrosshairMoved(self, x))

    def action_zoom(self, factor: float) -> None:
        inside = self.crosshair is not None and self.window[0] <= self.crosshair <= self.window[1]
        self._look(self.view.zoomed(factor, self.crosshair if inside else None, self.extent))

    def action_pan(self, share: float) -> None:
        self._look(self.view.panned(share, self.extent))

    def action_reset(self) -> None:
        self._look(View())

    def action_follow(self) -> None:
        self._look(self.view.following(self.extent))

    def action_scale(self) -> None:
        self.scale = SCALES[(SCALES.index(self.scale) + 1) % len(SCALES)]

    def action_smooth(self) -> None:
        wider = [smoothing for smoothing in SMOOTHINGS if smoothing > self.smoothing]
        self.smoothing = wider[0] if wider else SMOOTHINGS[0]

    def action_cross(self, cells: int) -> None:
        """Moves the crosshair by cells; at the edge of a zoomed window, the window moves along."""
        start, stop = self.window
        step = (stop - start) / max((self.axes.width if self.axes else 100) - 1, 1)
        low, high = self.extent
        x = (start + stop) / 2 if self.crosshair is None else self.crosshair + cells * step
        x = min(max(x, low), high)
        if not start <= x <= stop:
            self._look(self.view.panned((x - (start if x < start else stop)) / (stop - start), self.extent))
        self._hovering = False
        self._cross(x)

    def action_uncross(self) -> None:
        self._cross(None)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self.crosshair is not None if action == "uncross" else True

    def _x_under(self, event: events.MouseEvent) -> float | None:
        """The x under the mouse, if it is over the plot."""
        if self.axes is None:
            return None
        column = event.x - self.axes.left
        inside = 0 <= column < self.axes.width and event.y >= self._header_rows
        return self.axes.x_at(event.x) if inside else None

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self._look(self.view.zoomed(0.8, self._x_under(event), self.extent))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self._look(self.view.zoomed(1.25, self._x_under(event), self.extent))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._drag = (event.x, self.view)
        self.capture_mouse()

    def on_mouse_up(self, event: events.MouseUp) -> None:
        self._drag = None
        self.release_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._drag and self.axes:
            origin, view = self._drag
            self._look(replace(view, follow=False).panned((origin - event.x) / self.axes.width, self.extent))
            return
        self._hovering = True
        self._cross(self._x_under(event))

    def on_leave(self, event: events.Leave) -> None:
        if self._hovering:
            self._hovering = False
            self._cross(None)


def _strip(pieces: list[tuple[str, int]], styles: Styles, width: int) -> Strip:
    return Strip([Segment(text, styles[style]) for text, style in pieces], width)
