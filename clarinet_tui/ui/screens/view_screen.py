"""What every view is: a screen that says what it wants from the feed, and shows what comes."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from textual.screen import Screen

from clarinet_tui.ui.error_guard import Guarded
from clarinet_tui.ui.snapshot.snapshot import Snapshot, Wanted
from clarinet_tui.ui.widgets.top_bar import TopBar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clarinet_tui.ui.app_state import Session
    from clarinet_tui.ui.palette_commands import Choice
    from clarinet_tui.ui.widgets.chart import Chart


class ViewScreen(Guarded, Screen[None]):
    """Charts on one screen are kept in step: what one shows of x, and where its crosshair is, all do."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (120, "-wide")]  # noqa: RUF012  Textual's own declaration
    VERTICAL_BREAKPOINTS = [(0, "-low"), (36, "-high")]  # noqa: RUF012
    AUTO_FOCUS = ""
    NAME: ClassVar[str]

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session
        self._ready = False
        """Whether everything that `show` changes is there."""
        self._begin_in_shape()

    def _begin_in_shape(self) -> None:
        """Has the looks of the app's size and style sheet from the start: else Textual makes all of them twice."""
        width, height = self.app.size
        for room, shapes in ((width, self.HORIZONTAL_BREAKPOINTS), (height, self.VERTICAL_BREAKPOINTS)):
            self.set_class(True, *self._get_breakpoint_classes(room, shapes), update=False)
        self.app.stylesheet.apply(self.app)  # its colours are those of texts that have none
        self._css_update_count = self.app._css_update_count

    @abstractmethod
    def wanted(self) -> Wanted:
        """What to read for this view."""

    @abstractmethod
    def show(self, snapshot: Snapshot) -> None:
        """Shows what was read."""

    def choices(self) -> Iterable[Choice]:
        """What the palette offers by name, beside the view's keys."""
        return ()

    def top_bar(self) -> TopBar:
        return TopBar(self.NAME, str(self.session.runs_dir))

    def ask(self) -> None:
        """Tells the feed what this view wants now."""
        if self.is_current and self._ready:
            self.session.want(self.wanted())

    def on_mount(self) -> None:
        self._ready = True
        self.app.theme_changed_signal.subscribe(self, lambda _: self.restyle())

    def restyle(self) -> None:
        """Says again what has the colours of another theme."""
        if self.session.snapshot:
            self.receive(self.session.snapshot)

    def on_screen_resume(self) -> None:
        self.call_after_refresh(self._resume)

    def use_glyphs(self) -> None:
        """Draws charts as the user has chosen."""
        for chart in self.charts():
            chart.glyphs = self.session.chart_glyphs()
            chart.refresh()

    def _resume(self) -> None:
        if self.session.glyphs:
            self.use_glyphs()
        if self.session.snapshot:
            self.receive(self.session.snapshot)
        self.ask()

    def on_chart_room_changed(self) -> None:
        self.ask()

    def receive(self, snapshot: Snapshot) -> None:
        if self._ready:
            self.query_one(TopBar).show(snapshot)
            self.show(snapshot)

    def charts(self) -> list[Chart]:
        """The charts that move together."""
        from clarinet_tui.ui.widgets.chart import Chart

        return list(self.query(Chart))

    def on_chart_view_changed(self, event: Chart.ViewChanged) -> None:
        for chart in self.charts():
            chart.view = event.view
        self.ask()

    def on_chart_crosshair_moved(self, event: Chart.CrosshairMoved) -> None:
        for chart in self.charts():
            chart.crosshair = event.x
