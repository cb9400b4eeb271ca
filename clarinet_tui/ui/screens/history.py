"""History, the home view: all runs, newest first, and what is to be known of the one under the cursor."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal

from clarinet_tui.ui.app_state import MOST_OVERLAID
from clarinet_tui.ui.palette_commands import Choice
from clarinet_tui.ui.screens.run_actions import ActingScreen
from clarinet_tui.ui.snapshot.snapshot import Snapshot, Wanted
from clarinet_tui.ui.widgets.filter_line import FilterLine
from clarinet_tui.ui.widgets.key_footer import KeyFooter
from clarinet_tui.ui.widgets.pane_tabs import PaneTabs
from clarinet_tui.ui.widgets.run_detail import PANES, RunDetail
from clarinet_tui.ui.widgets.run_table import RunTable

SORTS = (("created", True), ("target_accuracy", True), ("method", False), ("task", False), ("seconds", True))
"""What the runs can be ordered by, and whether the largest comes first."""
NEED_RUNS = frozenset(
    "filter compare sort pane scroll_pane stop resume clone tag note remove copy_command".split()  # noqa: SIM905
)


class HistoryScreen(ActingScreen):
    """A table and, beside or below it, the run under the cursor."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (140, "-wide")]  # noqa: RUF012
    NAME = "history"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "Filter", key_display="/", id="history.filter"),
        Binding(
            "c",
            "compare",
            "Compare",
            id="history.compare",
            tooltip="Compare the selected runs, or the newest task's",
        ),
        Binding("v", "overlay", "Overlay", id="history.overlay", tooltip="Watch the selected runs over each other"),
        Binding("o", "sort", "Order", id="history.sort", tooltip="Order by date, accuracy, method, task or time"),
        Binding("p,right_square_bracket", "pane(1)", "Pane", id="history.next_pane", tooltip="Next pane of the run"),
        Binding("P,left_square_bracket", "pane(-1)", "Previous pane", id="history.previous_pane", show=False),
        Binding("J", "scroll_pane(3)", "Scroll the pane down", id="history.pane_down", show=False),
        Binding("K", "scroll_pane(-3)", "Scroll the pane up", id="history.pane_up", show=False),
        Binding("escape", "unfilter", "Clear filter and selection", id="history.unfilter", show=False),
    ]

    def compose(self) -> ComposeResult:
        yield self.top_bar()
        yield FilterLine(id="filter")
        with Horizontal(id="history"):
            yield RunTable(now=self.session.now, id="runs")
            yield RunDetail(self.session.chart_glyphs, self.session.now, id="detail")
        yield KeyFooter()

    def on_mount(self) -> None:
        self._query = ""
        self._offset = 0
        left = self.session.left
        self._sort = next((place for place, (name, _) in enumerate(SORTS) if name == left.sort), 0)
        self._detail = self.query_one(RunDetail)
        self._detail.pane = left.pane if left.pane in PANES else "charts"
        self._empty = False
        self.query_one(RunTable).focus()

    def on_screen_resume(self) -> None:
        if self.session.arrived:
            self.call_after_refresh(self._look_at_arrivals)
        if self.session.sought:
            self.call_after_refresh(self._look_for)

    async def _look_for(self) -> None:
        """What another view has asked for."""
        query, self.session.sought = self.session.sought, ""
        self.query_one(RunTable).clear_selection()
        await self.query_one(FilterLine).use(query)
        self.query_one(RunTable).focus()

    def _look_at_arrivals(self) -> None:
        """New runs are on top; nothing may hide them."""
        self.session.arrived = ()
        self._sort, self._offset = 0, 0
        self.action_unfilter()
        self.query_one(RunTable).action_end(False)
        self.ask()

    def runs_meant(self) -> tuple[str, ...]:
        under = self.run_in_view()
        return self.query_one(RunTable).selected or ((under,) if under else ())

    def run_in_view(self) -> str | None:
        run = self.query_one(RunTable).cursor_run
        return run.id if run else None

    def note_of(self, run: str) -> str:
        under = self.query_one(RunTable).cursor_run
        return under.note if under and under.id == run else ""

    def runs_left(self, runs: tuple[str, ...]) -> None:
        self.query_one(RunTable).clear_selection()

    def wanted(self) -> Wanted:
        sort, descending = SORTS[self._sort]
        run = self.query_one(RunTable).cursor_run
        return Wanted(
            self._query,
            sort,
            descending,
            self._offset,
            curves=self._detail.curves_wanted(run.id) if run else (),
            detail=self._detail.detail_wanted(run.id) if run else None,
            trends=True,
            words=self.query_one(FilterLine).typing,
        )

    def show(self, snapshot: Snapshot) -> None:
        listing = snapshot.listing
        empty = listing.all_runs == 0 and snapshot.settled and not snapshot.problem
        if empty != self._empty:
            self._welcome(empty)
        self.query_one(FilterLine).show(listing.total, listing.problem, snapshot.words)
        if listing.query == self._query and not listing.problem:
            self.query_one(RunTable).show(listing)
        self._detail.show(self.query_one(RunTable).cursor_run, snapshot)
        if listing.all_runs and self._detail.charts is None:
            self.call_after_refresh(self._begin_charts)
        if self.focused is None and not empty:
            self.query_one(RunTable).focus()

    def _begin_charts(self) -> None:
        """After the runs are on the screen: what charts need takes a while to import."""
        if self._detail.charts is None:
            self._detail.begin()
            self.call_after_refresh(self.ask)

    def _welcome(self, empty: bool) -> None:
        """The first steps take the place of the table while there is nothing in it."""
        from clarinet_tui.ui.widgets.welcome import Welcome

        self._empty = empty
        self.query_one("#history").display = not empty
        if empty:
            self.mount(Welcome(str(self.session.runs_dir)), after="#history")
        else:
            self.query(Welcome).remove()
        self.refresh_bindings()

    def on_run_table_run_highlighted(self, event: RunTable.RunHighlighted) -> None:
        if self.session.snapshot:
            self._detail.show(event.run, self.session.snapshot)
        self.ask()

    def on_run_table_run_chosen(self, event: RunTable.RunChosen) -> None:
        self.session.watched, self.session.overlaid = event.run.id, ()
        self.app.switch_mode("live")

    def on_run_table_selection_changed(self) -> None:
        self.refresh_bindings()

    def on_run_table_page_wanted(self, event: RunTable.PageWanted) -> None:
        self._offset = event.offset
        self.ask()

    def on_pane_tabs_pane_chosen(self, event: PaneTabs.PaneChosen) -> None:
        self._use_pane(event.pane)

    def on_filter_line_filter_changed(self, event: FilterLine.FilterChanged) -> None:
        self._query, self._offset = event.query, 0
        self.ask()

    def on_filter_line_filter_left(self) -> None:
        self.query_one(RunTable).focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What needs runs is not offered while there are none."""
        if action == "overlay" and len(self.query_one(RunTable).selected) < 2:
            return False
        return not (action in NEED_RUNS and self._empty)

    def action_pane(self, step: int) -> None:
        self.session.remember(pane=self._detail.step_pane(step))
        self.ask()

    def action_scroll_pane(self, lines: int) -> None:
        self._detail.scroll_pane(lines)

    async def action_filter(self) -> None:
        await self.query_one(FilterLine).open()
        self.ask()

    def action_unfilter(self) -> None:
        self.query_one(FilterLine).action_clear()
        self.query_one(RunTable).clear_selection()

    def action_sort(self) -> None:
        self._order((self._sort + 1) % len(SORTS))

    def _order(self, place: int) -> None:
        self._sort, self._offset = place, 0
        self.session.remember(sort=SORTS[place][0])
        self.notify(f"Ordered by {SORTS[place][0].replace('_', ' ')}", timeout=2)
        self.ask()

    def choices(self) -> Iterable[Choice]:
        for place, (name, _) in enumerate(SORTS):
            words = name.replace("_", " ")
            yield Choice(f"Order by {words}", f"Order the runs by {words}", partial(self._order, place))
        for pane, title in PANES.items():
            yield Choice(f"Pane: {title}", f"Show {title.lower()} of the run", partial(self._use_pane, pane))

    def _use_pane(self, pane: str) -> None:
        self._detail.pane = pane
        self.session.remember(pane=pane)
        self.ask()

    def action_overlay(self) -> None:
        chosen = self.query_one(RunTable).selected
        if len(chosen) > MOST_OVERLAID:
            self.notify(f"At most {MOST_OVERLAID} runs have room over each other: these are the first.", timeout=4)
        self.session.overlaid = chosen[:MOST_OVERLAID]
        self.session.watched = chosen[0]
        self.app.switch_mode("live")

    def _one_step_first(self, runs: tuple[str, ...]) -> tuple[str, ...]:
        listed = self.session.snapshot.listing.rows if self.session.snapshot else ()
        families = {run.id: run.family for run in listed}
        return tuple(sorted(runs, key=lambda run: families.get(run, "") == "two-step"))

    def action_compare(self) -> None:
        """The selected runs; with one selected, that and the one under the cursor; with none, what the view chooses."""
        table = self.query_one(RunTable)
        chosen = table.selected
        if len(chosen) == 1 and table.cursor_run:
            chosen = tuple(dict.fromkeys([*chosen, table.cursor_run.id]))
        if len(chosen) == 1:
            self.notify("Select another run with space, then press c to compare them.", timeout=4)
            return
        self.session.compared, self.session.compared_queries = self._one_step_first(chosen), None
        self.app.switch_mode("compare")
