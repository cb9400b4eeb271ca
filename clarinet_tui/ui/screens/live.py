"""Live: charts, readings and log of one run, while it trains and afterwards; or several runs over each other."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content

from clarinet_tui.ui.palette_commands import Choice
from clarinet_tui.ui.screens.run_actions import ActingScreen
from clarinet_tui.ui.snapshot.references import KINDS, NAMES, NOTHING, GhostWanted
from clarinet_tui.ui.snapshot.run_detail import DetailWanted
from clarinet_tui.ui.snapshot.snapshot import Snapshot, Wanted
from clarinet_tui.ui.text import run_summary as facts
from clarinet_tui.ui.widgets.key_footer import KeyFooter
from clarinet_tui.ui.widgets.log_tail import LogTail
from clarinet_tui.ui.widgets.text_line import Words

if TYPE_CHECKING:
    from clarinet_tui.history.queries import RunRow
    from clarinet_tui.ui.snapshot.run_detail import Detail
    from clarinet_tui.ui.snapshot.snapshot import Curves
    from clarinet_tui.ui.snapshot.x_axes import AxisName
    from clarinet_tui.ui.widgets.run_charts import RunCharts


class LiveScreen(ActingScreen):
    """Loss above, accuracy below; on a wide terminal readings and log stand beside them, else p shows the log."""

    NAME = "live"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("x", "axis", "X axis", id="live.axis", tooltip="Iteration, epoch, adaptation epoch or time"),
        Binding("M", "measure", "Measure", id="live.measure", tooltip="Of runs over each other: the next measure"),
        Binding(
            "b", "ghosts", "Behind", id="live.ghosts", tooltip="Published number and other seeds behind the accuracy"
        ),
        Binding("p,right_square_bracket,P,left_square_bracket", "log", "Log", key_display="p", id="live.log"),
        Binding("c", "compare", "Compare", id="live.compare", tooltip="These runs side by side"),
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
                yield LogTail(id="live-log")
        yield KeyFooter()

    def on_mount(self) -> None:
        self._charts.loss.scale = "symlog"
        self._charts.begin_with(self.session.left.axis)
        self._ghosts = self.session.left.ghosts if self.session.left.ghosts in KINDS else "both"
        self._untold = False
        """Whether other ghosts were chosen, of which nothing was said yet."""
        self._charts.loss.focus()

    def on_screen_resume(self) -> None:
        self.refresh_bindings()

    @property
    def _charts(self) -> RunCharts:
        from clarinet_tui.ui.widgets.run_charts import RunCharts

        return self.query_one(RunCharts)

    @property
    def _log_only(self) -> bool:
        return self.has_class("-log")

    def _watched(self) -> str | None:
        """The chosen run, or the newest one."""
        if self.session.watched not in self.session.overlaid and len(self.session.overlaid) > 1:
            self.session.watched = self.session.overlaid[0]
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

    def _all(self) -> tuple[str, ...]:
        """The runs in view."""
        run = self._watched()
        return self.session.overlaid if len(self.session.overlaid) > 1 else ((run,) if run else ())

    def wanted(self) -> Wanted:
        from clarinet_tui.ui.text.metrics import READINGS

        front = self._watched()
        if front is None:
            return Wanted()
        curves = tuple(self._charts.wanted(run, *(READINGS if run == front else ())) for run in self._all())
        ghost = GhostWanted(front, "seeds" in KINDS[self._ghosts]) if len(curves) == 1 and KINDS[self._ghosts] else None
        return Wanted(curves=curves, detail=DetailWanted(front, frozenset({"log", "memory"})), ghost=ghost)

    def show(self, snapshot: Snapshot) -> None:
        front = self._watched()
        found = [snapshot.curves[run] for run in self._all() if run in snapshot.curves]
        curves = snapshot.curves.get(front) if front else None
        if curves is None:
            self._say_nothing(snapshot, front)
            self.ask()
            return
        detail = snapshot.detail if snapshot.detail and snapshot.detail.wanted.run == front else None
        self._charts.show(*found, front=curves.run.id)
        self._show_ghosts(snapshot)
        self._say(curves, detail)
        if detail:
            self.query_one(LogTail).show(curves.run.id, detail.log)

    def _say_nothing(self, snapshot: Snapshot, watched: str | None) -> None:
        known = self._charts.curves.run.id if self._charts.curves else None
        if known == watched and watched:
            return
        self._charts.show()
        text = snapshot.problem or ("Reading…" if watched else "No run yet: start one, and it appears here by itself.")
        self.query_one("#live-title", Words).say(facts.said((text, "muted")))
        for name in ("#live-advance", "#live-line", "#live-about", "#readings"):
            self.query_one(name, Words).say(facts.said())

    def _say(self, curves: Curves, detail: Detail | None) -> None:
        from clarinet_tui.ui.text import metrics as readings

        run, width = curves.run, self.size.width
        side = max(20, self.query_one("#side").size.width - 3)
        about = self._runs(side) if len(self._charts.runs) > 1 else _aside(run, self.session.now())
        self.query_one("#live-title", Words).say(facts.title(run))
        self.query_one("#live-advance", Words).say(facts.advance(run, width - 2))
        self.query_one("#live-line", Words).say(readings.line(curves))
        self.query_one("#live-about", Words).say(about)
        self.query_one("#readings", Words).say(readings.table(curves, side, detail.memory if detail else None))

    def _runs(self, width: int) -> Content:
        """The runs over each other, with the signs and colours that their lines have."""
        from clarinet_tui.chart.palette import colour, marker
        from clarinet_tui.ui.text import metrics as readings
        from clarinet_tui.ui.widgets.chart_styles import palette_of

        palette = palette_of(self.app.current_theme)
        signs = [(marker(slot), colour(slot, palette)) for slot in range(len(self._charts.runs))]
        return readings.runs(self._charts.runs, self._watched() or "", signs, width)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("measure", "compare"):
            return len(self.session.overlaid) > 1
        if action == "ghosts":
            return len(self.session.overlaid) < 2
        return super().check_action(action, parameters)

    def action_log(self) -> None:
        """The log instead of the charts, and back."""
        self.toggle_class("-log")
        if self._log_only:
            self.query_one(LogTail).lines.focus()
        else:
            self._charts.loss.focus()

    def action_measure(self) -> None:
        self._charts.next_measure()

    def action_compare(self) -> None:
        self.session.compared, self.session.compared_queries = self.session.overlaid, None
        self.app.switch_mode("compare")

    def choices(self) -> Iterable[Choice]:
        from clarinet_tui.ui.snapshot.x_axes import AXES

        for axis in AXES:
            yield Choice(f"X axis: {axis}", f"Draw along {axis}", partial(self._use_axis, axis))

        if len(self.session.overlaid) < 2:
            for kind, name in NAMES.items():
                yield Choice(
                    f"Behind the accuracy: {name}", f"Put {name} behind the accuracy", partial(self._haunt, kind)
                )

    def action_ghosts(self) -> None:
        kinds = list(KINDS)
        self._haunt(kinds[(kinds.index(self._ghosts) + 1) % len(kinds)])

    def _haunt(self, kind: str) -> None:
        """Shows what is known at once; what is not is read, then shown, and told with what was left out."""
        self._ghosts, self._untold = kind, True
        self.session.remember(ghosts=kind)
        self._show_ghosts(self.session.snapshot)
        self.ask()

    def _show_ghosts(self, snapshot: Snapshot | None) -> None:
        ghost, wanted = snapshot.ghost if snapshot else None, self.wanted().ghost
        self._charts.haunt(ghost, self._ghosts)
        if self._untold and (wanted is None or (ghost and ghost.wanted == wanted)):
            self._untold = False
            told = ghost.sentence(self._ghosts) if ghost and wanted else NOTHING
            self.notify(told, title="Behind the accuracy", timeout=6, markup=False)

    def _use_axis(self, axis: AxisName) -> None:
        self._charts.use_axis(axis)
        self.session.remember(axis=axis)
        self.ask()

    def action_axis(self) -> None:
        self.session.remember(axis=self._charts.next_axis())
        self.ask()

    def action_other_run(self, step: int) -> None:
        """Another of the runs over each other, or of the history's first page, without going back to it."""
        rows = self.session.snapshot.listing.rows if self.session.snapshot else ()
        ids = self._all() if len(self.session.overlaid) > 1 else tuple(run.id for run in rows)
        if ids:
            place = ids.index(self.session.watched) + step if self.session.watched in ids else 0
            self.session.watched = ids[min(max(place, 0), len(ids) - 1)]
            if self.session.snapshot:
                self.show(self.session.snapshot)
            self.ask()


def _aside(run: RunRow, now: float) -> Content:
    """What stands above the readings."""
    notes = [facts.said(("· ", "muted"), (note, "muted")) for note in run.notes]
    return Content("\n").join([*facts.reached(run), facts.surroundings(run, now), *notes, *facts.remarks(run)])
