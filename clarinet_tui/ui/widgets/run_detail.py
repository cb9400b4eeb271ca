"""What is to be known of the run under the cursor, in panes: charts, papers, confusion."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.reactive import reactive

from clarinet_tui.ui.error_guard import Guarded
from clarinet_tui.ui.snapshot.run_detail import DetailWanted, Part
from clarinet_tui.ui.text import run_summary as facts
from clarinet_tui.ui.widgets.pane_tabs import PaneTabs
from clarinet_tui.ui.widgets.text_line import Words

if TYPE_CHECKING:
    from clarinet_tui.chart.glyphs import Glyphs
    from clarinet_tui.history.queries import RunRow
    from clarinet_tui.ui.snapshot.run_detail import Detail
    from clarinet_tui.ui.snapshot.snapshot import CurvesWanted, Snapshot
    from clarinet_tui.ui.widgets.log_tail import LogTail
    from clarinet_tui.ui.widgets.run_charts import RunCharts

PANES = {"charts": "Charts", "about": "About", "settings": "Settings", "confusion": "Confusion", "log": "Log"}
"""The panes and their titles, in order."""
PARTS: dict[str, Part] = {"about": "about", "settings": "settings", "confusion": "confusion", "log": "log"}
"""What of a run's papers the panes need."""


class RunDetail(Guarded, Vertical):
    """A few lines of facts, and below them one pane."""

    pane: reactive[str] = reactive("charts")

    def __init__(
        self,
        glyphs: Callable[[], Glyphs],
        now: Callable[[], float],
        *,
        id: str | None = None,  # noqa: A002
    ) -> None:
        super().__init__(id=id)
        self._glyphs, self._now = glyphs, now
        self._run: RunRow | None = None
        self._detail: Detail | None = None
        self.charts: RunCharts | None = None
        self.log_tail: LogTail | None = None
        """Charts and log come after the first paint: what they need takes a while to import."""

    def compose(self) -> ComposeResult:
        yield Words("Reading the history…", id="facts")
        yield PaneTabs(PANES, self.pane)
        with VerticalScroll(id="papers"):
            yield Words(id="paper")

    def on_mount(self) -> None:
        self.query_one(PaneTabs).display = False
        self._arrange()

    def curves_wanted(self, run: str) -> tuple[CurvesWanted, ...]:
        return (self.charts.wanted(run),) if self.charts and self.pane == "charts" else ()

    def detail_wanted(self, run: str) -> DetailWanted | None:
        part = PARTS.get(self.pane)
        return DetailWanted(run, frozenset({part})) if part else None

    def begin(self) -> None:
        """Makes what the first paint had no time for."""
        from clarinet_tui.ui.widgets.log_tail import LogTail
        from clarinet_tui.ui.widgets.run_charts import RunCharts

        self.charts, self.log_tail = RunCharts(self._glyphs(), id="charts"), LogTail(id="log")
        self._arrange()
        self.mount(self.charts, self.log_tail)

    def show(self, run: RunRow | None, snapshot: Snapshot) -> None:
        other = (run.id if run else None) != (self._run.id if self._run else None)
        self._run = run
        self._detail = snapshot.detail if run and snapshot.detail and snapshot.detail.wanted.run == run.id else None
        self.query_one(PaneTabs).display = run is not None
        self.query_one("#facts", Words).say(self._facts(snapshot.problem))
        curves = snapshot.curves.get(run.id) if run else None
        if self.charts and (curves or run is None or self.charts.curves is None):
            self.charts.show(*filter(None, [curves]))
        self._write(other)

    def step_pane(self, step: int) -> str:
        """The pane after this one, or before it."""
        names = list(PANES)
        self.pane = names[(names.index(self.pane) + step) % len(names)]
        return self.pane

    def watch_pane(self, pane: str) -> None:
        if self.is_mounted:
            self.query_one(PaneTabs).active = pane
            self._arrange()
            self._write(True)

    def _arrange(self) -> None:
        self.query_one("#papers").display = self.pane not in ("charts", "log")
        if self.charts and self.log_tail:
            self.charts.display = self.pane == "charts"
            self.log_tail.display = self.pane == "log"

    def _facts(self, problem: str) -> Content:
        run = self._run
        if run is None:
            return facts.said((problem, "bad"))
        lines = [facts.title(run), facts.accuracies(run), facts.advance(run, self._room)]
        return Content("\n").join([*lines, *facts.remarks(run)])

    @property
    def _room(self) -> int:
        return max(20, self.size.width - 3)

    def _write(self, from_the_top: bool) -> None:
        """The pane of text; empty until its paper is read."""
        if self._run is None or self.pane == "charts":
            return
        if self.pane == "log":
            if self._detail and self.log_tail and self.log_tail.is_mounted:
                self.log_tail.show(self._run.id, self._detail.log)
            return
        self.query_one("#paper", Words).say(self._paper(self._run))
        if from_the_top:
            self.query_one("#papers", VerticalScroll).scroll_home(animate=False)

    def _paper(self, run: RunRow) -> Content:
        from clarinet_tui.ui.text import run_panes as sheets

        if self.pane == "settings":
            return sheets.settings(run, self._detail, self._room)
        if self.pane == "about":
            return sheets.about(run, self._detail, self._now(), self._room)
        if self._detail is None or self._detail.confusion is None:
            unknown = "No confusion yet: it is measured at the end of an epoch, on target images with known classes."
            return facts.said((unknown if self._detail else "", "muted"))
        from clarinet_tui.ui.text.confusion import heat_map

        return heat_map(self._detail.confusion, self._room)

    def scroll_pane(self, lines: int) -> None:
        log = self.log_tail.lines if self.log_tail and self.pane == "log" else None
        (log or self.query_one("#papers", VerticalScroll)).scroll_relative(y=lines, animate=False)

    def on_resize(self) -> None:
        self._write(False)
