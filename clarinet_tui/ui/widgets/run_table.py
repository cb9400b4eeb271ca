"""The table of runs, which holds one page of rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from clarinet_tui.ui.error_guard import guard_render_line
from clarinet_tui.ui.snapshot.snapshot import PAGE_ROWS, Listing
from clarinet_tui.ui.textual_private import GuardedHandlers
from clarinet_tui.ui.widgets.run_columns import (
    FIXED_COLUMNS,
    RenderContext,
    RunColumn,
    applicable_columns,
    fit_run_columns,
    render_cell,
)
from clarinet_tui.ui.widgets.styled_text import RoleStyles, role_classes, role_css

if TYPE_CHECKING:
    from clarinet_tui.history.queries import RunRow

AGE_REFRESH = 30.0
"""Seconds between updates of the ages."""
NO_MATCH, NO_MATCH_ROW = "   No run matches. Escape clears the filter.", 2
"""The text of an empty table, and its row."""


class RunTable(GuardedHandlers, ScrollView, can_focus=True):
    """A table of runs. The cursor stays on its run when others are added above it."""

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {"runs--head", "runs--cursor", "runs--selected", *role_classes("runs")}
    DEFAULT_CSS = """
    RunTable { overflow-x: hidden; scrollbar-size-vertical: 1; }
    RunTable > .runs--head { color: $foreground 50%; text-style: bold; }
    RunTable > .runs--cursor { background: $foreground 10%; }
    RunTable:focus > .runs--cursor { background: $primary 35%; }
    RunTable > .runs--selected { color: $text-accent; text-style: bold; }
    """ + role_css("RunTable", "runs")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "move(1)", "Down", id="runs.down", show=False),
        Binding("up,k", "move(-1)", "Up", id="runs.up", show=False),
        Binding("pagedown,ctrl+d", "page(1)", "Page down", id="runs.page_down", show=False),
        Binding("pageup,ctrl+u", "page(-1)", "Page up", id="runs.page_up", show=False),
        Binding("home,g", "go_to_end(False)", "First run", id="runs.first", show=False),
        Binding("end,G", "go_to_end(True)", "Last run", id="runs.last", show=False),
        Binding("enter", "open", "Open", id="runs.open", tooltip="Watch this run's charts"),
        Binding("space", "select", "Select", id="runs.select", tooltip="Select for comparing"),
    ]

    @dataclass(eq=False, repr=False)
    class RunHighlighted(Message):
        """The cursor is on another run."""

        run: RunRow | None

    @dataclass(eq=False, repr=False)
    class RunOpened(Message):
        """The user opened a run."""

        run: RunRow

    @dataclass(eq=False, repr=False)
    class SelectionChanged(Message):
        """The selection changed; `runs` is in the order of selection."""

        runs: tuple[str, ...]

    @dataclass(eq=False, repr=False)
    class SortRequested(Message):
        """The user clicked on the header of a column."""

        sort: str

    @dataclass(eq=False, repr=False)
    class PageRequested(Message):
        """Visible rows are not in the page that the table holds."""

        offset: int

    def __init__(self, *, now: Callable[[], float] = time.time, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._now = now
        self._listing = Listing()
        self._columns = applicable_columns(())
        self._hidden: frozenset[str] = frozenset()
        self.order = ("created", True)
        """The field that the runs are sorted by, and whether the largest value comes first."""
        self._cursor = 0
        self._selected: dict[str, None] = {}
        self._roles = RoleStyles(self, "runs")
        self._background = Style()
        self._fitted: list[tuple[RunColumn, int]] = []

    @property
    def cursor_run(self) -> RunRow | None:
        return self._run_at(self._cursor)

    @property
    def selected(self) -> tuple[str, ...]:
        return tuple(self._selected)

    def _run_at(self, index: int) -> RunRow | None:
        row = index - self._listing.offset
        return self._listing.rows[row] if 0 <= row < len(self._listing.rows) else None

    def show(self, listing: Listing) -> None:
        """Show a page of runs; the cursor follows its run."""
        old_listing, old_cursor = self._listing, self._cursor
        cursor_run, same_query = self.cursor_run, listing.query == self._listing.query
        self._listing, self._columns = listing, self._columns_of(listing)
        self._cursor = min(self._cursor, max(listing.total - 1, 0)) if same_query else 0
        if cursor_run and same_query:
            rows = [row for row, run in enumerate(listing.rows) if run.id == cursor_run.id]
            shift = listing.offset + rows[0] - self._cursor if rows and self._cursor else 0
            self._cursor += shift
            if shift:
                self.scroll_to(y=self.scroll_offset.y + shift, animate=False)
        self.virtual_size = Size(self.scrollable_content_region.width, listing.total + 1)
        self._refresh_rows(old_listing, old_cursor)
        if (self.cursor_run and self.cursor_run.id) != (cursor_run and cursor_run.id):
            self.post_message(self.RunHighlighted(self.cursor_run))
        self._request_page()

    def _refresh_rows(self, before: Listing, old_cursor: int) -> None:
        """Repaint only changed rows if rows, columns and cursor are where they were."""
        listing = self._listing
        shape = listing.offset, listing.total, len(listing.rows), self._columns, self._cursor
        old_columns = self._columns_of(before)
        if shape != (before.offset, before.total, len(before.rows), old_columns, old_cursor):
            self.refresh()
            return
        for row, (old, new) in enumerate(zip(before.rows, listing.rows, strict=True)):
            line = listing.offset + row - self.scroll_offset.y + 1
            if old != new and 1 <= line < self.size.height:
                self.refresh(Region(0, line, self.size.width, 1))

    def on_mount(self) -> None:
        self.set_interval(AGE_REFRESH, self.refresh)

    def on_resize(self) -> None:
        self.virtual_size = Size(self.scrollable_content_region.width, self._listing.total + 1)
        self._scroll_to_cursor()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Look up the background once for all rows, as Textual blends it from all parents, and fit the columns."""
        self._background = self.rich_style
        self._fitted = self._fit_columns()
        return super().render_lines(crop)

    @guard_render_line
    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        style, text, role = self._background, "", ""
        index = self.scroll_offset.y + y - 1
        if y == 0:
            style = self.get_component_rich_style("runs--head")
            text = " " + " ".join(column.header(*self.order, size) for column, size in self._fitted)
        elif index < self._listing.total:
            if index == self._cursor:
                style = style + self.get_component_rich_style("runs--cursor")
            if run := self._run_at(index):
                return self._render_run(run, width, style)
            text = "  …"
        elif y == NO_MATCH_ROW and not self._listing.total and self._listing.query:
            text, role = NO_MATCH, "muted"
        return Strip([Segment(text, self._roles.apply(style, role))]).adjust_cell_length(width, style)

    def _render_run(self, run: RunRow, width: int, style: Style) -> Strip:
        mark = self.get_component_rich_style("runs--selected", partial=True)
        segments = [Segment("┃", style + mark) if run.id in self._selected else Segment(" ", style)]
        context = RenderContext(self._now(), self._listing.trends)
        for column, size in self._fitted:
            spans = [*render_cell(column, run, size, context), (" ", "")]
            segments += [Segment(text, self._roles.apply(style, role)) for text, role in spans]
        return Strip(segments).simplify().adjust_cell_length(width, style)

    def action_move(self, rows: int) -> None:
        self._move_cursor(self._cursor + rows)

    def action_page(self, pages: int) -> None:
        self._move_cursor(self._cursor + pages * max(1, self._visible_rows - 1))

    def action_go_to_end(self, last: bool) -> None:
        self._move_cursor(self._listing.total - 1 if last else 0)

    def action_open(self) -> None:
        if self.cursor_run:
            self.post_message(self.RunOpened(self.cursor_run))

    def action_select(self) -> None:
        """Select or deselect the run and move to the next, as file managers do."""
        run = self.cursor_run
        if run is None:
            return
        if run.id in self._selected:
            del self._selected[run.id]
        else:
            self._selected[run.id] = None
        self.post_message(self.SelectionChanged(self.selected))
        self.refresh()
        self.action_move(1)

    def clear_selection(self) -> None:
        self._selected.clear()
        self.post_message(self.SelectionChanged(()))
        self.refresh()

    def _columns_of(self, listing: Listing) -> tuple[RunColumn, ...]:
        return applicable_columns(listing.rows, self._hidden, self.order[0])

    def set_order(self, sort: str, descending: bool) -> None:
        self.order = sort, descending
        self._columns = self._columns_of(self._listing)
        self.refresh()

    def hide_columns(self, titles: Iterable[str]) -> None:
        self._hidden = frozenset(titles) - set(FIXED_COLUMNS)
        self._columns = self._columns_of(self._listing)
        self.refresh()

    def sort_fields(self) -> list[str]:
        """Return the fields of the visible columns that runs can be sorted by."""
        return [column.sort for column, _ in self._fit_columns() if column.sort]

    def _fit_columns(self) -> list[tuple[RunColumn, int]]:
        return fit_run_columns(self._columns, self.scrollable_content_region.width - 1)

    def on_click(self, event: events.Click) -> None:
        if event.y == 0:
            end = 1
            for column, size in self._fit_columns():
                end += size + 1
                if event.x < end:
                    if column.sort:
                        self.post_message(self.SortRequested(column.sort))
                    break
        if event.y >= 1:
            self._move_cursor(self.scroll_offset.y + event.y - 1)
            if event.chain == 2:
                self.action_open()

    @property
    def _visible_rows(self) -> int:
        return max(1, self.scrollable_content_region.height - 1)

    def _move_cursor(self, index: int) -> None:
        self._cursor = min(max(index, 0), max(self._listing.total - 1, 0))
        self._scroll_to_cursor()
        self.refresh()
        self.post_message(self.RunHighlighted(self.cursor_run))

    def _scroll_to_cursor(self) -> None:
        top = self.scroll_offset.y
        y = min(max(top, self._cursor - self._visible_rows + 1), self._cursor)
        if y != top:
            self.scroll_to(y=y, animate=False)
        self._request_page(y)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._request_page()

    def _request_page(self, top: int | None = None) -> None:
        """Request another page if visible rows are not in this one."""
        first = self.scroll_offset.y if top is None else top
        last = min(first + self._visible_rows, self._listing.total)
        start, stop = self._listing.offset, self._listing.offset + len(self._listing.rows)
        if first < start or last > stop:
            self.post_message(self.PageRequested(max(0, first - PAGE_ROWS // 3)))
