"""The base of every view: sends the feed a request, and shows the snapshots that answer it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeVar

from clarinet_tui.ui.snapshot.snapshot import Snapshot, ViewRequest
from clarinet_tui.ui.textual_private import GuardedHandlers, PrestyledScreen
from clarinet_tui.ui.widgets.top_bar import TopBar

if TYPE_CHECKING:
    from clarinet_tui.ui.app_state import AppState
    from clarinet_tui.ui.widgets.chart import Chart


Value = TypeVar("Value")


def next_value(values: Sequence[Value], current: object, step: int = 1) -> Value:
    """Return the value `step` places after the current one, in a circle; the first if there is no current one."""
    return values[(values.index(current) + step) % len(values)] if current in values else values[0]


class PaletteCommand(NamedTuple):
    """A command of the palette that selects one value directly, where a key steps through all values."""

    title: str
    description: str
    run: Callable[[], object]


class ViewScreen(GuardedHandlers, PrestyledScreen):
    """All charts of a view share their x range and crosshair."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (120, "-wide")]  # noqa: RUF012  Textual's own declaration
    VERTICAL_BREAKPOINTS = [(0, "-low"), (36, "-high")]  # noqa: RUF012
    AUTO_FOCUS = ""
    NAME: ClassVar[str]

    def __init__(self, state: AppState) -> None:
        super().__init__()
        self.state = state
        self._is_ready = False
        """Whether the widgets that `show` changes are mounted."""
        self.apply_styles_early()

    @abstractmethod
    def make_request(self) -> ViewRequest:
        """Return what the feed should read for this view."""

    @abstractmethod
    def show(self, snapshot: Snapshot) -> None:
        """Show a snapshot."""

    def palette_commands(self) -> Iterable[PaletteCommand]:
        """Return the palette's commands of this view, in addition to its key bindings."""
        return ()

    def top_bar(self) -> TopBar:
        return TopBar(self.NAME, str(self.state.runs_dir))

    def send_request(self) -> None:
        if self.is_current and self._is_ready:
            self.state.history_feed.request(self.make_request())

    def on_mount(self) -> None:
        self._is_ready = True
        self.app.theme_changed_signal.subscribe(self, lambda _: self.restyle())

    def restyle(self) -> None:
        """Draw text again in the colours of the new theme."""
        if self.state.snapshot:
            self.receive_snapshot(self.state.snapshot)

    def use_glyphs(self) -> None:
        from clarinet_tui.ui.widgets.chart import Chart

        for chart in self.query(Chart):
            chart.glyphs = self.state.chart_glyphs()
            chart.refresh()

    def copy(self, command: str) -> None:
        """Copy through the terminal, which works over SSH; the toast shows the text where that is forbidden."""
        self.app.copy_to_clipboard(command)
        self.notify(command, title="Copied", timeout=6, markup=False)

    def on_screen_resume(self) -> None:
        self.call_after_refresh(self._resume)

    def _resume(self) -> None:
        if self.state.glyphs:
            self.use_glyphs()
        if self.state.snapshot:
            self.receive_snapshot(self.state.snapshot)
        self.send_request()

    def on_chart_resized(self) -> None:
        self.send_request()

    def receive_snapshot(self, snapshot: Snapshot) -> None:
        if self._is_ready:
            self.query_one(TopBar).show(snapshot)
            self.show(snapshot)

    def charts(self) -> list[Chart]:
        """Return the charts that share their x range and crosshair."""
        from clarinet_tui.ui.widgets.chart import Chart

        return list(self.query(Chart))

    def on_chart_view_changed(self, event: Chart.ViewChanged) -> None:
        for chart in self.charts():
            chart.view = event.view
        self.send_request()

    def on_chart_crosshair_moved(self, event: Chart.CrosshairMoved) -> None:
        for chart in self.charts():
            chart.crosshair = event.x
