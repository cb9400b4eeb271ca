"""The order of History's table: by which column it is sorted, which columns it has, and how runs are grouped."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from clarinet_tui.ui.screens.run_actions import RunActionScreen
from clarinet_tui.ui.screens.view_screen import PaletteCommand, next_value
from clarinet_tui.ui.text.run_groups import GROUPINGS, format_group, format_group_header
from clarinet_tui.ui.widgets.filter_line import FilterLine
from clarinet_tui.ui.widgets.run_columns import COLUMNS, FIXED_COLUMNS, LARGEST_FIRST, SORT_TITLES
from clarinet_tui.ui.widgets.run_table import RunTable
from clarinet_tui.ui.widgets.styled_text import StyledText

if TYPE_CHECKING:
    from textual.widgets import OptionList

    from clarinet_tui.history.run_groups import GroupField
    from clarinet_tui.ui.snapshot.snapshot import Listing


OF_RUNS = frozenset(
    {
        *("stop", "stop_now", "resume", "clone", "tag", "note", "remove", "copy_command", "inspect"),
        *("sort", "reverse", "columns", "pane", "scroll_pane", "overlay"),
    }
)
"""Actions on single runs and on their table, which groups hide."""


class RunOrderScreen(RunActionScreen):
    """A screen with a table of runs, and a list of their groups that can replace it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "sort", "Sort", id="history.sort", tooltip="Sort by the next column, or click on its title"),
        Binding("O", "reverse", "Reverse", id="history.reverse", show=False, tooltip="Reverse the order of the runs"),
        Binding("C", "columns", "Columns", id="history.columns", show=False, tooltip="Choose the columns"),
        Binding("m", "group", "Group", id="history.group", tooltip="Group by method and task, with mean ± std"),
    ]
    _query, _offset = "", 0
    """The filter of the table, and the first run of its page."""
    _grouping: str | None = None

    @property
    def table(self) -> RunTable:
        return self.query_one(RunTable)

    @property
    def group_fields(self) -> tuple[GroupField, ...]:
        """The fields that the runs are grouped by; none if they are not."""
        return GROUPINGS[self._grouping] if self._grouping else ()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return False if self.group_fields and action in OF_RUNS else super().check_action(action, parameters)

    def set_saved_order(self) -> None:
        """Use the order and the columns of the last session."""
        saved = self.state.preferences.values
        sort = saved.sort if saved.sort in SORT_TITLES else "created"
        self.table.set_order(sort, (sort in LARGEST_FIRST) != (saved.sort_order == "reversed"))
        self.table.hide_columns(saved.hidden_columns.split(","))

    def sort_commands(self) -> Iterable[PaletteCommand]:
        for name, title in SORT_TITLES.items():
            yield PaletteCommand(f"Sort by {title}", f"Sort the runs by {title}", partial(self._sort_by, name))

    def action_sort(self) -> None:
        fields = dict.fromkeys(("created", "target_accuracy", *self.table.sort_fields()))
        self._sort_by(next_value(list(fields), self.table.order[0]))

    def action_reverse(self) -> None:
        self._sort_by(self.table.order[0])

    def on_run_table_sort_requested(self, event: RunTable.SortRequested) -> None:
        self._sort_by(event.sort)

    def _sort_by(self, sort: str) -> None:
        """Sort by a field; by the same one again in the other order."""
        current, descending = self.table.order
        descending = not descending if sort == current else sort in LARGEST_FIRST
        self.table.set_order(sort, descending)
        self._offset = 0
        reversed_order = descending != (sort in LARGEST_FIRST)
        self.state.preferences.save(sort=sort, sort_order="reversed" if reversed_order else "")
        self.send_request()

    def action_columns(self) -> None:
        from clarinet_tui.ui.screens.dialogs import ChoicesDialog

        names = [column.title for column in COLUMNS if column.title not in FIXED_COLUMNS]
        hidden = self.state.preferences.values.hidden_columns.split(",")

        def choose(shown: tuple[str, ...] | None) -> None:
            if shown is not None:
                titles = [name for name in names if name not in shown]
                self.state.preferences.save(hidden_columns=",".join(titles))
                self.table.hide_columns(titles)

        self.app.push_screen(ChoicesDialog("Columns", names, set(names) - set(hidden)), choose)

    async def action_group(self) -> None:
        from clarinet_tui.ui.widgets.pick_list import PickList

        if not self.query("#groups"):
            await self.mount(PickList(id="groups"), after="#group-head")
        self.use_grouping(next_value([*GROUPINGS, None], self._grouping))

    def use_grouping(self, grouping: str | None) -> None:
        self._grouping = grouping
        self.set_class(grouping is not None, "-grouped")
        self.set_focus(self.query_one("#groups") if grouping else self.table)
        self.refresh_bindings()
        self.send_request()

    async def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Show the runs of a group."""
        self.use_grouping(None)
        query = " ".join(filter(None, (self._query, event.option.id)))
        await self.query_one(FilterLine).apply_query(query)

    def show_groups(self, listing: Listing) -> None:
        from clarinet_tui.ui.widgets.pick_list import PickList

        fields = self.group_fields
        if not fields or not all(len(group.values) == len(fields) for group in listing.groups):
            return  # read for another grouping
        self.query_one("#group-head", StyledText).set_content(format_group_header(fields))
        lines = [(_group_query(fields, group.values), format_group(group, fields)) for group in listing.groups]
        self.query_one("#groups", PickList).show(lines)


def _group_query(fields: tuple[GroupField, ...], values: tuple[str | None, ...]) -> str:
    """Return the query for the runs of a group."""
    from clarinet_tui.history.query_language import quote_value

    return " ".join(f"{name}:{quote_value(value or '')}" for name, value in zip(fields, values, strict=True))
