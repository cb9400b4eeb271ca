"""What is to be known of the run under the cursor, in panes: charts, papers, confusion."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive

from clarinet_tui.ui.error_guard import GuardedHandlers
from clarinet_tui.ui.snapshot.run_detail import DetailPart, DetailRequest
from clarinet_tui.ui.text import run_summary as facts
from clarinet_tui.ui.text.styled import styled
from clarinet_tui.ui.widgets.styled_text import StyledText

if TYPE_CHECKING:
    from clarinet_tui.chart.glyphs import GlyphSet
    from clarinet_tui.history.queries import RunRow
    from clarinet_tui.ui.snapshot.run_detail import RunDetails
    from clarinet_tui.ui.snapshot.snapshot import CurvesRequest, Snapshot
    from clarinet_tui.ui.widgets.log_tail import LogTail
    from clarinet_tui.ui.widgets.run_charts import RunCharts

PANES = {"charts": "Charts", "about": "About", "settings": "Settings", "confusion": "Confusion", "log": "Log"}
"""The panes and their titles, in order."""
DETAIL_PARTS: dict[str, DetailPart] = {"about": "about", "settings": "settings", "confusion": "confusion", "log": "log"}
"""What of a run's papers the panes need."""


class PaneTabs(StyledText):
    """Give it panes and their titles, and set `active`."""

    DEFAULT_CSS = "PaneTabs { height: 1; }"

    @dataclass
    class PaneSelected(Message):
        """Another pane was clicked."""

        pane: str

    active: reactive[str] = reactive("")

    def __init__(self, panes: Mapping[str, str], active: str) -> None:
        super().__init__()
        self._panes = panes
        self.active = active

    def watch_active(self, active: str) -> None:
        role = {True: "bold underline $text-accent", False: "muted"}
        parts = [[(" ", ""), (title, role[pane == active]), (" ", "")] for pane, title in self._panes.items()]
        self.set_content(styled(*(piece for part in parts for piece in part)))

    def on_click(self, event: events.Click) -> None:
        end = 0
        for pane, title in self._panes.items():
            end += len(title) + 2
            if event.x < end:
                self.post_message(self.PaneSelected(pane))
                return


class RunDetail(GuardedHandlers, Vertical):
    """A few lines of facts, and below them one pane."""

    pane: reactive[str] = reactive("charts")

    def __init__(
        self,
        glyphs: Callable[[], GlyphSet],
        now: Callable[[], float],
        *,
        id: str | None = None,  # noqa: A002
    ) -> None:
        super().__init__(id=id)
        self._glyphs, self._now = glyphs, now
        self._run: RunRow | None = None
        self._detail: RunDetails | None = None
        self.charts: RunCharts | None = None
        self.log_tail: LogTail | None = None
        """Charts and log come after the first paint: what they need takes a while to import."""

    def compose(self) -> ComposeResult:
        yield StyledText("Reading the history…", id="facts")
        yield PaneTabs(PANES, self.pane)
        with VerticalScroll(id="papers"):
            yield StyledText(id="paper")

    def on_mount(self) -> None:
        self.query_one(PaneTabs).display = False
        self._show_pane()

    def curves_wanted(self, run: str) -> tuple[CurvesRequest, ...]:
        return (self.charts.curves_wanted(run),) if self.charts and self.pane == "charts" else ()

    def detail_wanted(self, run: str) -> DetailRequest | None:
        part = DETAIL_PARTS.get(self.pane)
        return DetailRequest(run, frozenset({part})) if part else None

    def mount_charts_and_log(self) -> None:
        """Makes what the first paint had no time for."""
        from clarinet_tui.ui.widgets.log_tail import LogTail
        from clarinet_tui.ui.widgets.run_charts import RunCharts

        self.charts, self.log_tail = RunCharts(self._glyphs(), id="charts"), LogTail(id="log")
        self._show_pane()
        self.mount(self.charts, self.log_tail)

    def show(self, run: RunRow | None, snapshot: Snapshot) -> None:
        other = (run.id if run else None) != (self._run.id if self._run else None)
        self._run = run
        self._detail = snapshot.detail if run and snapshot.detail and snapshot.detail.request.run == run.id else None
        self.query_one(PaneTabs).display = run is not None
        self.query_one("#facts", StyledText).set_content(self._summary(snapshot.problem))
        curves = snapshot.curves.get(run.id) if run else None
        if self.charts and (curves or run is None or self.charts.curves is None):
            self.charts.show(*filter(None, [curves]))
        self._update_text(other)

    def next_pane(self, step: int) -> str:
        """The pane after this one, or before it."""
        names = list(PANES)
        self.pane = names[(names.index(self.pane) + step) % len(names)]
        return self.pane

    def watch_pane(self, pane: str) -> None:
        if self.is_mounted:
            self.query_one(PaneTabs).active = pane
            self._show_pane()
            self._update_text(True)

    def _show_pane(self) -> None:
        self.query_one("#papers").display = self.pane not in ("charts", "log")
        if self.charts and self.log_tail:
            self.charts.display = self.pane == "charts"
            self.log_tail.display = self.pane == "log"

    def _summary(self, problem: str) -> Content:
        run = self._run
        if run is None:
            return styled((problem, "bad"))
        lines = [
            facts.format_title(run),
            facts.format_accuracies(run),
            facts.format_run_progress(run, self._text_width),
        ]
        return Content("\n").join([*lines, *facts.format_annotations(run)])

    @property
    def _text_width(self) -> int:
        return max(20, self.size.width - 3)

    def _update_text(self, from_the_top: bool) -> None:
        """The pane of text; empty until its paper is read."""
        if self._run is None or self.pane == "charts":
            return
        if self.pane == "log":
            if self._detail and self.log_tail and self.log_tail.is_mounted:
                self.log_tail.show(self._run.id, self._detail.log)
            return
        self.query_one("#paper", StyledText).set_content(self._pane_text(self._run))
        if from_the_top:
            self.query_one("#papers", VerticalScroll).scroll_home(animate=False)

    def _pane_text(self, run: RunRow) -> Content:
        from clarinet_tui.ui.text import run_panes as sheets

        if self.pane == "settings":
            return sheets.format_settings(run, self._detail, self._text_width)
        if self.pane == "about":
            return sheets.format_about(run, self._detail, self._now(), self._text_width)
        if self._detail is None or self._detail.confusion is None:
            unknown = "No confusion yet: it is measured at the end of an epoch, on target images with known classes."
            return styled((unknown if self._detail else "", "muted"))
        from clarinet_tui.ui.text.confusion import format_confusion

        return format_confusion(self._detail.confusion, self._text_width)

    def scroll_pane(self, lines: int) -> None:
        log = self.log_tail.lines if self.log_tail and self.pane == "log" else None
        (log or self.query_one("#papers", VerticalScroll)).scroll_relative(y=lines, animate=False)

    def on_resize(self) -> None:
        self._update_text(False)
