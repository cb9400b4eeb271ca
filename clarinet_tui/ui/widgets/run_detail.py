"""The run at the cursor: a summary, and a pane with charts, text or log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, cast

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive

from clarinet_tui.ui.snapshot.snapshot import DetailPart, DetailRequest
from clarinet_tui.ui.text.run import format_about, format_settings, format_summary
from clarinet_tui.ui.text.styled import styled
from clarinet_tui.ui.textual_private import GuardedHandlers
from clarinet_tui.ui.widgets.styled_text import StyledText

if TYPE_CHECKING:
    from clarinet_tui.chart.cells import GlyphSet
    from clarinet_tui.history.queries import RunRow
    from clarinet_tui.ui.snapshot.snapshot import CurvesRequest, HistorySnapshot, InspectionProgress, RunDetails
    from clarinet_tui.ui.widgets.log_tail import LogTail
    from clarinet_tui.ui.widgets.run_charts import RunCharts

PANES = {pane: pane.capitalize() for pane in ("charts", "about", "settings", "confusion", "model", "pictures", "log")}
"""The title of each pane."""
INSPECTED_PANES = ("model", "pictures")


class PaneTabs(StyledText):
    """A row of pane titles; a click selects one."""

    DEFAULT_CSS = "PaneTabs { height: 1; }"

    @dataclass(eq=False, repr=False)
    class PaneSelected(Message):
        pane: str

    active: reactive[str] = reactive("")

    def watch_active(self, active: str) -> None:
        roles = {pane: "bold underline $text-accent" if pane == active else "muted" for pane in PANES}
        titles = [styled((title, roles[pane])) for pane, title in PANES.items()]
        self.set_content(Content.assemble(" ", Content("  ").join(titles), " "))

    def on_click(self, event: events.Click) -> None:
        end = 0
        for pane, title in PANES.items():
            end += len(title) + 2
            if event.x < end:
                self.post_message(self.PaneSelected(pane))
                return


class RunDetail(GuardedHandlers, Vertical):
    """A summary of the run, and below it one pane."""

    pane: reactive[str] = reactive("charts")

    def __init__(self, glyphs: Callable[[], GlyphSet], now: Callable[[], float], *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._glyphs, self._now = glyphs, now
        self._run: RunRow | None = None
        self._detail: RunDetails | None = None
        self._progress: InspectionProgress | None = None
        self._drawn: tuple[object, Content] = None, Content()
        """The last drawn figure or pictures, and what they depend on."""
        self.charts: RunCharts | None = None
        self.log_tail: LogTail | None = None
        """Charts and log are mounted after the first paint, because their imports are slow."""

    def compose(self) -> ComposeResult:
        yield StyledText("Reading the history…", id="run-summary")
        yield PaneTabs().data_bind(active=RunDetail.pane)
        with VerticalScroll(id="pane-scroll"):
            yield StyledText(id="pane-text")

    def on_mount(self) -> None:
        self.query_one(PaneTabs).display = False
        self._show_pane()

    def curves_requests(self, run: str) -> tuple[CurvesRequest, ...]:
        return (self.charts.curves_request(run),) if self.charts and self.pane == "charts" else ()

    def detail_request(self, run: str) -> DetailRequest:
        """Request what the pane needs; the alarms of the summary are part of every answer."""
        part = "inspection" if self.pane in INSPECTED_PANES else self.pane
        return DetailRequest(run, frozenset() if part == "charts" else frozenset({cast(DetailPart, part)}))

    def mount_charts_and_log(self) -> None:
        """Mount charts and log after the first paint."""
        from clarinet_tui.ui.widgets.log_tail import LogTail
        from clarinet_tui.ui.widgets.run_charts import RunCharts

        self.charts, self.log_tail = RunCharts(self._glyphs(), id="charts"), LogTail(id="log")
        self._show_pane()
        self.mount(self.charts, self.log_tail)

    def show(self, run: RunRow | None, snapshot: HistorySnapshot, progress: InspectionProgress | None = None) -> None:
        self._progress = progress
        is_other_run = (run.id if run else None) != (self._run.id if self._run else None)
        self._run = run
        self._detail = snapshot.detail if run and snapshot.detail and snapshot.detail.request.run == run.id else None
        self.query_one(PaneTabs).display = run is not None
        alarms = self._detail.alarms if self._detail else ()
        summary = format_summary(run, alarms, self._text_width) if run else styled((snapshot.problem, "bad"))
        self.query_one("#run-summary", StyledText).set_content(summary)
        curves = snapshot.curves.get(run.id) if run else None
        if self.charts and (curves or run is None or self.charts.curves is None):
            self.charts.show(*filter(None, [curves]))
        self._update_text(is_other_run)

    def watch_pane(self) -> None:
        if self.is_mounted:
            self._show_pane()
            self._update_text(True)

    def _show_pane(self) -> None:
        self.query_one("#pane-scroll").display = self.pane not in ("charts", "log")
        if self.charts and self.log_tail:
            self.charts.display = self.pane == "charts"
            self.log_tail.display = self.pane == "log"

    @property
    def _text_width(self) -> int:
        return max(20, self.size.width - 3)

    def _update_text(self, scroll_home: bool) -> None:
        """Update the text or log pane; it is empty until the details are read."""
        if self._run is None or self.pane == "charts":
            return
        if self.pane == "log":
            if self._detail and self.log_tail and self.log_tail.is_mounted:
                self.log_tail.show(self._run.id, self._detail.log)
            return
        self.query_one("#pane-text", StyledText).set_content(self._pane_text(self._run))
        if scroll_home:
            self.query_one("#pane-scroll", VerticalScroll).scroll_home(animate=False)

    def _pane_text(self, run: RunRow) -> Content:
        if self.pane == "settings":
            return format_settings(run, self._detail, self._text_width)
        if self.pane == "about":
            return format_about(run, self._detail, self._now(), self._text_width)
        from clarinet_tui.ui.text import inspection as inspection_text

        detail = self._detail
        if self.pane == "confusion":
            if detail and detail.confusion:
                return self._draw(detail.confusion, inspection_text.format_confusion)
            missing = "No confusion matrix yet: it is measured after each epoch on labelled target images."
            return styled((missing if detail else "", "muted"))
        state = inspection_text.format_inspection_state(run.id, detail, self._progress)
        if detail is None or detail.inspection is None:
            return state
        draw = inspection_text.format_model if self.pane == "model" else inspection_text.format_pictures
        content = self._draw(detail.inspection, partial(draw, run.id))
        return Content("\n").join([state, content]) if state else content

    def _draw(self, data: object, draw: Callable[..., Content]) -> Content:
        """Draw, unless nothing has changed since the last time."""
        from clarinet_tui.ui.widgets.chart import theme_palette

        look = self._text_width, self._glyphs(), theme_palette(self.app.current_theme)
        key = (self.pane, data, *look)
        if self._drawn[0] != key:
            self._drawn = key, draw(data, *look)
        return self._drawn[1]

    def scroll_pane(self, lines: int) -> None:
        log = self.log_tail.lines if self.log_tail and self.pane == "log" else None
        (log or self.query_one("#pane-scroll", VerticalScroll)).scroll_relative(y=lines, animate=False)

    def on_resize(self) -> None:
        self._update_text(False)
