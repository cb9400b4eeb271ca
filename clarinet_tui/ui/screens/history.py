"""History, the first view: all runs, newest first, and the details of the run under the cursor."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.containers import Center, Horizontal, Middle
from textual.content import Content
from textual.widgets import Static

from clarinet_tui.ui.app_state import MAX_OVERLAID
from clarinet_tui.ui.screens.view_screen import RunActionScreen, next_value
from clarinet_tui.ui.snapshot.snapshot import HistorySnapshot, Listing, ViewRequest
from clarinet_tui.ui.text.run import format_welcome
from clarinet_tui.ui.text.tables import format_table, group_table
from clarinet_tui.ui.widgets.filter_line import FilterLine
from clarinet_tui.ui.widgets.key_footer import KeyFooter
from clarinet_tui.ui.widgets.run_detail import INSPECTED_PANES, PANES, PaneTabs, RunDetail
from clarinet_tui.ui.widgets.run_table import (
    COLUMNS,
    FIXED_COLUMNS,
    SORT_TITLES,
    TITLES,
    RunTable,
    is_largest_first,
)
from clarinet_tui.ui.widgets.styled_text import StyledText

if TYPE_CHECKING:
    from textual.widgets import OptionList

    from clarinet_tui.history.queries import RunRow
    from clarinet_tui.ui.snapshot.snapshot import RunGroup

ALARMS = "alarm:*"
OF_RUNS = frozenset(
    {
        *("stop", "stop_now", "resume", "clone", "tag", "note", "remove", "copy_command", "inspect"),
        *("reverse", "columns", "pane", "scroll_pane", "overlay"),
    }
)
"""Actions on single runs and on their table, which groups hide."""
NEED_RUNS = OF_RUNS | {"sort", "filter", "alarms", "compare", "group"}


class HistoryScreen(RunActionScreen):
    """A table of runs and, beside or below it, the run under the cursor."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (160, "-wide")]  # noqa: RUF012  beside the detail, the table needs 100
    NAME = "history"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "sort", "Sort", id="history.sort", tooltip="Sort by the next column, or click on its title"),
        Binding("O", "reverse", "Reverse", id="history.reverse", show=False, tooltip="Reverse the order of the runs"),
        Binding("C", "columns", "Columns", id="history.columns", show=False, tooltip="Choose the columns"),
        Binding(
            "m",
            "group",
            "Group",
            id="history.group",
            tooltip="Group runs that differ only in the seed: mean ± std",
        ),
        Binding("slash", "filter", "Filter", key_display="/", id="history.filter"),
        Binding(
            "c", "compare", "Compare", id="history.compare", tooltip="Compare the selected runs, or the newest task"
        ),
        Binding("v", "overlay", "Overlay", id="history.overlay", tooltip="Overlay the selected runs in Live"),
        Binding("w", "sweep", "Sweep", id="history.sweep", show=False, tooltip="The sweep of the run, or of the group"),
        Binding("a", "alarms", "Alarms", id="history.alarms", show=False, tooltip="Only runs with open alarms, or all"),
        Binding("p,right_square_bracket", "pane(1)", "Pane", id="history.next_pane", tooltip="Next pane of the run"),
        Binding("P,left_square_bracket", "pane(-1)", "Previous pane", id="history.previous_pane", show=False),
        Binding(
            "i", "inspect", "Inspect", id="history.inspect", show=False, tooltip="Evaluate its model: figures, pictures"
        ),
        Binding("J", "scroll_pane(3)", "Scroll the pane down", id="history.pane_down", show=False),
        Binding("K", "scroll_pane(-3)", "Scroll the pane up", id="history.pane_up", show=False),
        Binding("escape", "unfilter", "Clear filter and selection", id="history.unfilter", show=False),
    ]

    def compose(self) -> ComposeResult:
        yield self.top_bar()
        yield FilterLine(id="filter")
        with Horizontal(id="history"):
            yield RunTable(now=self.state.now, id="runs")
            yield RunDetail(self.state.chart_glyphs, self.state.now, id="detail")
        yield StyledText(id="group-head")
        yield KeyFooter()

    def on_mount(self) -> None:
        saved = self.state.preferences.values
        self.table.order = saved.sort, is_largest_first(saved.sort) != (saved.sort_order == "reversed")
        self.table.use_columns(saved.hidden_columns.split(","), saved.shown_settings.split(","))
        self._detail = self.query_one(RunDetail)
        self._detail.pane = saved.pane if saved.pane in PANES else "charts"
        self._is_empty = False
        self.table.focus()

    def on_screen_resume(self) -> None:
        if self.state.new_runs:
            self.call_after_refresh(self._show_new_runs)
        if self.state.history_query:
            self.call_after_refresh(self._apply_query)

    async def _apply_query(self) -> None:
        """Filter by the query that another view has set."""
        query, self.state.history_query = self.state.history_query, ""
        self.table.clear_selection()
        await self.query_one(FilterLine).apply_query(query)
        self.table.focus()

    def _show_new_runs(self) -> None:
        """Show new runs at the top, without filter and selection."""
        self.state.new_runs = ()
        self._offset = 0
        self.table.order = "created", True
        self.use_groups(False)
        self.action_unfilter()
        self.table.action_go_to_end(False)
        self.send_request()

    def target_runs(self) -> tuple[str, ...]:
        return self.table.selected or super().target_runs()

    def run_in_view(self) -> str | None:
        run = self.table.cursor_run
        return run.id if run else None

    def forget_runs(self, runs: tuple[str, ...]) -> None:
        self.table.clear_selection()

    def make_request(self) -> ViewRequest:
        run = self.table.cursor_run
        return ViewRequest(
            self._query,
            *self.table.order,
            self._offset,
            curves=self._detail.curves_requests(run.id) if run else (),
            detail=self._detail.detail_request(run.id) if run else None,
            trends=True,
            query_values=self.query_one(FilterLine).is_typing,
            groups=self._is_grouped,
            ids=self.table.awaits_ids,
        )

    def show(self, snapshot: HistorySnapshot) -> None:
        listing = snapshot.listing
        empty = listing.all_runs == 0 and snapshot.is_ingested and not snapshot.problem
        if empty != self._is_empty:
            self._show_welcome(empty)
        self.query_one(FilterLine).show(listing.total, listing.problem, snapshot.query_values)
        if listing.query == self._query and not listing.problem:
            self.table.show(listing)
        self._show_detail(self.table.cursor_run, snapshot)
        if listing.query == self._query:
            self.show_groups(listing)
        if listing.all_runs and self._detail.charts is None:
            self.call_after_refresh(self._create_charts)
        if self.focused is None and not empty:
            self.table.focus()

    def _show_detail(self, run: RunRow | None, snapshot: HistorySnapshot) -> None:
        self._detail.show(run, snapshot, self.state.inspections.get(run.id) if run else None)

    def _create_charts(self) -> None:
        """Create the charts after the runs are shown: their imports take a while."""
        if self._detail.charts is None:
            self._detail.mount_charts_and_log()
            self.call_after_refresh(self.send_request)

    def _show_welcome(self, empty: bool) -> None:
        """Show the first steps instead of an empty table."""
        self._is_empty = empty
        self.query_one("#history").display = not empty
        if empty:
            text = Static(format_welcome(str(self.state.runs_dir)), markup=False)
            self.mount(Middle(Center(text), id="welcome"), after="#history")
        else:
            self.query("#welcome").remove()
        self.refresh_bindings()

    def on_run_table_run_highlighted(self, event: RunTable.RunHighlighted) -> None:
        if self.state.snapshot:
            self._show_detail(event.run, self.state.snapshot)
        self.send_request()

    def on_run_table_run_opened(self, event: RunTable.RunOpened) -> None:
        self.watch_runs(event.run.id)

    def on_run_table_selection_changed(self) -> None:
        self.refresh_bindings()
        self.send_request()  # without the ids that were read to select runs

    def on_run_table_ids_requested(self) -> None:
        self.send_request()

    def on_run_table_page_requested(self, event: RunTable.PageRequested) -> None:
        self._offset = event.offset
        self.send_request()

    def on_pane_tabs_pane_selected(self, event: PaneTabs.PaneSelected) -> None:
        self._use_pane(event.pane)

    def on_filter_line_filter_changed(self, event: FilterLine.FilterChanged) -> None:
        self._query, self._offset = event.query, 0
        self.send_request()

    def on_filter_line_filter_closed(self) -> None:
        self.table.focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable actions that need runs while there are none, or one run while groups are shown."""
        is_disabled = (
            (action == "overlay" and len(self.table.selected) < 2)
            or (action in NEED_RUNS and self._is_empty)
            or (action in OF_RUNS and self._is_grouped)
        )
        return False if is_disabled else super().check_action(action, parameters)

    def action_pane(self, step: int) -> None:
        self._use_pane(next_value(list(PANES), self._detail.pane, step))

    def action_inspect(self) -> None:
        """Inspect the selected runs, or the run under the cursor, and show how far that is."""
        runs = self.target_runs()
        if self._detail.pane not in INSPECTED_PANES:
            self._use_pane(INSPECTED_PANES[0])
        self.start_action(partial(self.actions.inspect, runs), lambda done: self.state.inspection_feed.add(done.runs))

    def action_scroll_pane(self, lines: int) -> None:
        self._detail.scroll_pane(lines)

    async def action_filter(self) -> None:
        await self.query_one(FilterLine).open()
        self.send_request()

    async def action_alarms(self) -> None:
        """Filter by open alarms; the second time, show all runs again."""
        if self._query == ALARMS:
            self.action_unfilter()
        else:
            await self.query_one(FilterLine).apply_query(ALARMS)

    def action_unfilter(self) -> None:
        if self._is_grouped:
            self.use_groups(False)
            return
        self.query_one(FilterLine).action_clear()
        self.table.clear_selection()

    def palette_commands(self) -> Iterable[SystemCommand]:
        listing = self.state.snapshot.listing if self.state.snapshot else Listing()
        settings = {name: name for name in listing.varied if name not in TITLES}
        for name, title in {**SORT_TITLES, **settings}.items():
            yield SystemCommand(f"Sort by {title}", f"Sort the runs by {title}", partial(self._sort_by, name))
        for pane, title in PANES.items():
            yield SystemCommand(f"Pane: {title}", f"Show {title.lower()} of the run", partial(self._use_pane, pane))

    def _use_pane(self, pane: str) -> None:
        self._detail.pane = pane
        self.state.preferences.save(pane=pane)
        self.send_request()

    def action_overlay(self) -> None:
        selected = self.table.selected
        if len(selected) > MAX_OVERLAID:
            self.notify(f"At most {MAX_OVERLAID} runs can be overlaid: showing the first ones.", timeout=4)
        self.watch_runs(*selected[:MAX_OVERLAID])

    def action_compare(self) -> None:
        """Compare the selected runs, a single one with the run under the cursor; without a selection, the default."""
        selected = self.table.selected
        if len(selected) == 1 and (run := self.run_in_view()):
            selected = tuple(dict.fromkeys([*selected, run]))
        if len(selected) == 1:
            self.notify("Select another run with space, then press c to compare them.", timeout=4)
            return
        self.state.compare(selected)
        self.app.switch_mode("compare")

    _query, _offset = "", 0
    """The filter of the table, and the first run of its page."""
    _is_grouped = False
    _group_order = ""
    """What the groups are sorted by: a title, a setting, or the mean if it is empty."""

    @property
    def table(self) -> RunTable:
        return self.query_one(RunTable)

    def action_sort(self) -> None:
        if self._is_grouped:
            self._sort_groups()
            return
        fields = dict.fromkeys(("created", "target_accuracy", *self.table.sort_fields()))
        self._sort_by(next_value(list(fields), self.table.order[0]))

    def action_reverse(self) -> None:
        self._sort_by(self.table.order[0])

    def on_run_table_sort_requested(self, event: RunTable.SortRequested) -> None:
        self._sort_by(event.sort)

    def _sort_by(self, sort: str) -> None:
        """Sort by a field; by the same one again in the other order."""
        current, descending = self.table.order
        descending = not descending if sort == current else is_largest_first(sort)
        self.table.order = sort, descending
        self._offset = 0
        reversed_order = descending != is_largest_first(sort)
        self.state.preferences.save(sort=sort, sort_order="reversed" if reversed_order else "")
        self.send_request()

    def action_columns(self) -> None:
        """Choose among the columns and, below them, all settings: first those that differ, which are shown unasked."""
        from clarinet_tui.ui.screens.dialogs import ChoicesDialog
        from core.methods import all_setting_specs

        saved = self.state.preferences.values
        hidden, chosen = saved.hidden_columns.split(","), list(filter(None, saved.shown_settings.split(",")))
        listing = self.state.snapshot.listing if self.state.snapshot else Listing()
        varied = [name for name in listing.varied if name not in TITLES]
        titles = [column.title for column in COLUMNS if column.title not in FIXED_COLUMNS]
        known = [spec.name for spec in all_setting_specs() if spec.name not in TITLES]
        settings = list(dict.fromkeys([*varied, *chosen, *known]))
        names, shown_settings = [*titles, *settings], {*chosen, *(name for name in varied if name not in hidden)}
        shown = {*titles, *shown_settings} - set(hidden)

        def choose(selected: tuple[str, ...] | None) -> None:
            if selected is None:
                return
            removed = [name for name in [*titles, *varied] if name not in selected]
            removed += [name for name in hidden if name in known and name not in [*varied, *selected]]
            added = [name for name in settings if name in selected and (name in chosen or name not in varied)]
            self.state.preferences.save(hidden_columns=",".join(removed), shown_settings=",".join(added))
            self.table.use_columns(removed, added)

        self.app.push_screen(ChoicesDialog("Columns", names, shown), choose)

    async def action_group(self) -> None:
        from clarinet_tui.ui.widgets.pick_list import PickList

        if not self.query("#groups"):
            await self.mount(PickList(id="groups"), after="#group-head")
        self.use_groups(not self._is_grouped)

    def action_sweep(self) -> None:
        """Show the sweep of the run or the group under the cursor."""
        from clarinet_tui.ui.widgets.pick_list import PickList

        groups = {group.query: group for group in self.state.snapshot.listing.groups} if self.state.snapshot else {}
        if self._is_grouped:
            group = groups.get(self.query_one("#groups", PickList).highlighted_id or "")
            name = group.sweep if group else ""
        else:
            name = self.table.cursor_run.settings.get("sweep", "") if self.table.cursor_run else ""
        if name:
            self.open_sweep(name)
        else:
            self.notify("This run is not part of a sweep.", timeout=4)

    def use_groups(self, grouped: bool) -> None:
        self._is_grouped = grouped
        self.set_class(grouped, "-grouped")
        self.set_focus(self.query_one("#groups") if grouped else self.table)
        self.refresh_bindings()
        self.send_request()

    async def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Show the runs of a group."""
        self.use_groups(False)
        await self.query_one(FilterLine).apply_query(" ".join(filter(None, (self._query, event.option.id))))

    def _sort_groups(self) -> None:
        """Sort the groups by the next of their columns, or by a setting in which they differ."""
        groups = self.state.snapshot.listing.groups if self.state.snapshot else ()
        settings = dict.fromkeys(name for group in groups for name in group.settings)
        self._group_order = next_value(["", "method and settings", "task", *settings], self._group_order)
        self.notify(f"Sorted by {self._group_order or 'target'}", timeout=2, markup=False)
        if self.state.snapshot:
            self.show_groups(self.state.snapshot.listing)

    def show_groups(self, listing: Listing) -> None:
        if not (self._is_grouped and self.query("#groups")):
            return
        from clarinet_tui.ui.widgets.pick_list import PickList

        order = self._group_order
        groups = sorted(listing.groups, key=lambda group: group_order(group, order)) if order else listing.groups
        header, *lines = (Content(" ") + line for line in format_table(group_table(groups), self.size.width - 2))
        self.set_text("#group-head", header)
        self.query_one("#groups", PickList).show(
            [(group.query, line) for group, line in zip(groups, lines, strict=True)]
        )


def group_order(group: RunGroup, order: str) -> tuple[object, ...]:
    """The key by which groups are sorted: numbers before texts, and groups without the setting last."""
    if order == "task":
        return (group.task, group.name)
    value = group.settings.get(order, "" if order in ("method and settings", "") else None)
    return (value is None, isinstance(value, str), value if value is not None else 0, group.name, group.task)
