"""Live: the charts and readings of one run, while it trains and afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content

from clarinet_tui.ui import facts
from clarinet_tui.ui.screens.acting import ActingScreen
from clarinet_tui.ui.snapshot import Snapshot, Wanted
from clarinet_tui.ui.widgets.key_footer import KeyFooter
from clarinet_tui.ui.widgets.words import Words

if TYPE_CHECKING:
    from clarinet_tui.history.queries import RunRow
    from clarinet_tui.ui.snapshot import Curves
    from clarinet_tui.ui.widgets.run_charts import RunCharts


class LiveScreen(ActingScreen):
    """Loss above, accuracy below; on a wide terminal the readings stand beside them."""

    NAME = "live"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("x", "axis", "X axis", id="live.axis", tooltip="Iteration, epoch, adaptation epoch or time"),
        Binding("j", "other_run(1)", "Next run", id="live.next", show=False),
        Binding("k", "other_run(-1)", "Previous run", id="live.previous", show=False),
        Binding("escape", "app.view('history')", "Back", id="live.back"),
    ]

    def compose(self) -> ComposeResult:
        from clarinet_tui.ui.widgets.run_charts import RunCharts

        yield self.top_bar()
        with Vertical(id="live-head"):
            yield Words(id="live-title")
            yield Words(id="live-advance")
            yield Words(id="live-line")
        with Horizontal(id="live"):
            yield RunCharts(self.session.chart_glyphs(), id="live-charts")
            with Vertical(id="side"):
                yield Words(id="live-about")
                yield Words(id="readings")
        yield KeyFooter()

    def on_mount(self) -> None:
        self._charts.loss.scale = "symlog"
        self._charts.loss.focus()

    @property
    def _charts(self) -> RunCharts:
        from clarinet_tui.ui.widgets.run_charts import RunCharts

        return self.query_one(RunCharts)

    def _watched(self) -> str | None:
        """The chosen run, or the newest one."""
        if self.session.watched is None and self.session.snapshot and self.session.snapshot.listing.rows:
            self.session.watched = self.session.snapshot.listing.rows[0].id
        return self.session.watched

    def runs_meant(self) -> tuple[str, ...]:
        run = self.run_in_view()
        return (run,) if run else ()

    def run_in_view(self) -> str | None:
        return self._watched()

    def note_of(self, run: str) -> str:
        shown = self._charts.curves
        return shown.run.note if shown and shown.run.id == run else ""

    def runs_left(self, runs: tuple[str, ...]) -> None:
        self.app.switch_mode("history")

    def wanted(self) -> Wanted:
        from clarinet_tui.ui.readings import READINGS

        run = self._watched()
        return Wanted(curves=(self._charts.wanted(run, *READINGS),)) if run else Wanted()

    def show(self, snapshot: Snapshot) -> None:
        watched = self._watched()
        curves = snapshot.curves.get(watched) if watched else None
        if curves is None:
            self._say_nothing(snapshot, watched)
            self.ask()
            return
        self._charts.show(curves)
        self._say(curves)

    def _say_nothing(self, snapshot: Snapshot, watched: str | None) -> None:
        known = self._charts.curves.run.id if self._charts.curves else None
        if known == watched and watched:
            return
        self._charts.show(None)
        text = snapshot.problem or ("Reading…" if watched else "No run yet: start one, and it appears here by itself.")
        self.query_one("#live-title", Words).say(facts.said((text, "muted")))
        for name in ("#live-advance", "#live-line", "#live-about", "#readings"):
            self.query_one(name, Words).say(facts.said())

    def _say(self, curves: Curves) -> None:
        from clarinet_tui.ui import readings

        run, width = curves.run, self.size.width
        side = max(20, self.query_one("#side").size.width - 3)
        self.query_one("#live-title", Words).say(facts.title(run))
        self.query_one("#live-advance", Words).say(facts.advance(run, width - 2))
        self.query_one("#live-line", Words).say(readings.line(curves))
        self.query_one("#live-about", Words).say(_aside(run, self.session.now()))
        self.query_one("#readings", Words).say(readings.table(curves, side))

    def action_axis(self) -> None:
        self._charts.next_axis()
        self.ask()

    def action_other_run(self, step: int) -> None:
        """Another run of the history's first page, without going back to it."""
        rows = self.session.snapshot.listing.rows if self.session.snapshot else ()
        ids = [run.id for run in rows]
        if ids:
            place = ids.index(self.session.watched) + step if self.session.watched in ids else 0
            self.session.watched = ids[min(max(place, 0), len(ids) - 1)]
            self.ask()


def _aside(run: RunRow, now: float) -> Content:
    """What stands above the readings."""
    notes = [facts.said(("· ", "muted"), (note, "muted")) for note in run.notes]
    return Content("\n").join([*facts.reached(run), facts.surroundings(run, now), *notes, *facts.remarks(run)])
