"""The chart widget: keys, mouse, messages and rendering."""

import numpy as np
import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.geometry import Offset

from clarinet_tui.chart.cells import BRAILLE, QUADRANTS, CellGrid, GlyphSet
from clarinet_tui.chart.curve import Curve, ReferenceLine
from clarinet_tui.chart.render import Axes, ChartSpec, render_chart
from clarinet_tui.ui.widgets import chart
from clarinet_tui.ui.widgets.chart import Chart, legend_entries
from tests.support.app import screen_text

X = np.arange(5000.0)
FLAT = np.full(X.size, 5.0)
MEAN = Curve.through(X, FLAT, name="mean", colour_index=0)
BAND = Curve.through(X, FLAT - 3, FLAT - 3, FLAT + 3, colour_index=0, filled=True)


def noisy(count: int = 4) -> tuple[Curve, ...]:
    random = np.random.default_rng(0)
    return tuple(
        Curve.through(X, place + random.normal(0, 0.2, X.size), name=f"line {place}") for place in range(count)
    )


class ChartApp(App[None]):
    """A chart and nothing else."""

    def __init__(self, lines: tuple[Curve, ...], glyphs: GlyphSet = BRAILLE) -> None:
        super().__init__()
        self.chart = Chart("Loss", glyphs=glyphs)
        self.chart.lines = lines
        self.messages: list[object] = []

    def compose(self) -> ComposeResult:
        yield self.chart

    def on_chart_view_changed(self, event: Chart.ViewChanged) -> None:
        self.messages.append(event.view)

    def on_chart_crosshair_moved(self, event: Chart.CrosshairMoved) -> None:
        self.messages.append(event.x)


async def test_keys_zoom_pan_scale_smooth_and_reset() -> None:
    app = ChartApp(noisy())
    async with app.run_test(size=(80, 24)) as pilot:
        app.chart.focus()
        await pilot.press("plus")
        assert app.chart.window == (1249.75, 3749.25)
        await pilot.press("l")
        assert app.chart.window[0] > 1249.75
        assert "zoom" in screen_text(app)
        await pilot.press("h", "h", "h", "h", "h", "h")
        assert app.chart.window[0] == 0
        await pilot.press("minus")
        assert app.chart.view.shows_all
        await pilot.press("m", "L")
        assert "log · smooth 1%" in screen_text(app)
        await pilot.press("L", "L", "f")
        assert app.chart.scale == "linear"
        assert "follow" in screen_text(app)
        await pilot.press("0")
        assert app.chart.view.shows_all
        assert len(app.messages) >= 5
        await pilot.press("f")
        span = app.chart.window[1] - app.chart.window[0]
        app.chart.lines = (Curve.through(np.arange(6000), np.arange(6000)),)
        assert app.chart.window == (5999 - span, 5999), "the newest point stays visible"


async def test_the_crosshair_shows_values_and_pans_the_window() -> None:
    app = ChartApp((Curve.through(X, X * 2, name="a"),))
    async with app.run_test(size=(80, 24)) as pilot:
        app.chart.focus()
        await pilot.press("left")
        assert app.chart.crosshair == 2499.5
        await pilot.pause()
        assert "a 5000" in screen_text(app)
        await pilot.press("plus", "plus", *["shift+right"] * 20)
        assert app.chart.crosshair == 4999.0
        assert app.chart.window[1] == 4999.0
        await pilot.press("escape")
        assert app.chart.crosshair is None


async def test_the_mouse_zooms_drags_and_moves_the_crosshair() -> None:
    app = ChartApp((Curve.through(X, X, name="a"),))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.hover(Chart, offset=Offset(40, 10))
        assert app.chart.crosshair is not None
        await pilot._post_mouse_events([events.MouseScrollUp], Chart, offset=(40, 10))
        start, stop = app.chart.window
        assert stop - start < 4999
        await pilot.mouse_down(Chart, offset=Offset(40, 10))
        await pilot.hover(Chart, offset=Offset(20, 10))
        await pilot.mouse_up(Chart, offset=Offset(20, 10))
        assert app.chart.window[0] > start


async def test_every_theme_and_size_can_be_drawn() -> None:
    app = ChartApp(noisy(2), QUADRANTS)
    async with app.run_test(size=(80, 24)) as pilot:
        for theme in ("textual-light", "ansi-dark", "nord"):
            app.theme = theme
            for size in ((1, 1), (10, 3), (30, 8), (120, 40)):
                await pilot.resize_terminal(*size)
                await pilot.pause()
        assert "▀" in screen_text(app) or "▄" in screen_text(app)
        app.chart.lines = ()
        await pilot.pause()
        assert "no data yet" in screen_text(app)


async def test_a_redraw_renders_the_chart_once_for_all_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    app = ChartApp(noisy())
    async with app.run_test(size=(160, 48)):
        rendered: list[ChartSpec] = []

        def count_render(spec: ChartSpec) -> tuple[CellGrid, Axes]:
            rendered.append(spec)
            return render_chart(spec)

        monkeypatch.setattr(chart, "render_chart", count_render)
        for step in range(5):
            app.chart.crosshair = float(step)
            for y in range(48):
                app.chart.render_line(y)
        assert len(rendered) == 5


async def test_band_is_tinted_with_the_colour_of_its_line() -> None:
    app = ChartApp((MEAN,))
    app.chart.references = (BAND, ReferenceLine(9.5, "published 9.5"))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert "published 9.5" in screen_text(app)
        backgrounds = {segment.style.bgcolor for strip in app.chart._strips for segment in strip if segment.style}
        assert len(backgrounds) == 2


def test_legend_shows_the_band_at_the_crosshair_and_named_bands() -> None:
    other_seeds = Curve.through(X, FLAT, FLAT, FLAT + 1, name="other\x1b seeds", filled=True)
    first, second = legend_entries((MEAN,), 500.0, (BAND, other_seeds))
    assert first.value == "5 (2…8)"
    assert (second.marker, second.name, second.value) == ("░", "other seeds", "")
