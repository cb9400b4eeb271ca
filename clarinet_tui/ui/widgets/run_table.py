"""The table of runs, which holds one page of rows: its columns, which of them fit, and the widget."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from clarinet_tui.runs.state import RunState
from clarinet_tui.tables.setting_columns import MAX_COLUMNS, setting_column, setting_text
from clarinet_tui.tables.table import Column, fit_columns
from clarinet_tui.text import (
    format_age_of,
    format_bytes,
    format_count,
    format_duration,
    format_energy,
    format_percent,
    format_task,
    progress_bar,
    sparkline,
)
from clarinet_tui.ui.error_guard import guard_render_line
from clarinet_tui.ui.snapshot.snapshot import PAGE_ROWS, Listing
from clarinet_tui.ui.text.run import name_alarms
from clarinet_tui.ui.text.styled import STATE_STYLES, Span, fit_spans
from clarinet_tui.ui.textual_private import GuardedHandlers
from clarinet_tui.ui.widgets.styled_text import role_style

if TYPE_CHECKING:
    from clarinet_tui.history.queries import RunRow


@dataclass(frozen=True)
class RunColumn(Column):
    """A column whose cells are rendered for a given width, so that it does not change from page to page."""

    growth: int = 0
    render: Callable[[RunRow, int, float, Sequence[float]], list[Span]] = field(kw_only=True)
    """Makes a cell from the run, the width, the current time, and the accuracies of a running run so far."""
    applies_to: Callable[[RunRow], bool] | None = None
    """Whether a run has a value in this column; the column is hidden if no run has one."""
    sort: str = ""
    """The field of a run that its cells show; empty if runs cannot be sorted by it."""
    largest_first: bool = False
    """Whether the largest value comes first, unless the order is reversed."""

    def header(self, sort: str, descending: bool, width: int) -> str:
        """Return the title with an arrow if runs are sorted by this column."""
        arrow = ("▾" if descending else "▴") if self.sort and self.sort == sort else ""
        return f"{f'{self.title}{arrow}':{'>' if self.right else '<'}{width}}"


def _progress(run: RunRow, width: int, *_: object) -> list[Span]:
    """A bar with the time left of a live run, else the final state."""
    share = run.progress
    if run.state.is_live and share is not None:
        left = run.seconds_left
        text = f" {share:>3.0%}"
        if left is not None and width - len(timed := f"{text} {format_duration(left)}") >= 3:
            text = timed
        done, rest = progress_bar(share, max(width - len(text), 1))
        return [(done, "live"), (rest, "faint"), (text, "")]
    if run.state is RunState.FINISHED:
        return [(f"{run.epoch or 0} epochs" if run.epoch else "finished", "muted")]
    stopped_at = f" {share:.0%}" if share is not None else ""
    return [(f"{run.state}{stopped_at}", STATE_STYLES[run.state][1])]


def _field(
    title: str,
    name: str,
    least: int,
    drop: int,
    form: Callable[[Any], str] = str,
    *,
    role: str = "",
    missing: str = "–",
    **options: Any,
) -> RunColumn:
    """A column with a field of runs, which they can be sorted by."""

    def render(run: RunRow, *_: object) -> list[Span]:
        value = getattr(run, name)
        return [(missing if value in (None, "") else form(value), role)]

    return RunColumn(title, render=render, least=least, drop=drop, sort=name, **options)


def _number(
    title: str, name: str, least: int, drop: int, form: Callable[[float], str], role: str = "", *, always: bool = False
) -> RunColumn:
    """A column with a number; it is hidden if no run has one, unless it is always shown."""
    applies_to = None if always else lambda run: getattr(run, name) is not None
    return _field(title, name, least, drop, form, role=role, right=True, largest_first=True, applies_to=applies_to)


COLUMNS = (
    RunColumn("", render=lambda run, *_: [STATE_STYLES[run.state]], least=1, drop=1, sort="state"),
    _field("run", "id", 9, 2, role="muted"),
    _field("method", "method", 13, 1, growth=2, missing="?"),
    _field("task", "task", 5, 1, format_task, growth=2, missing="?"),
    _field("seed", "seed", 4, 3, right=True),
    _number("target", "target_accuracy", 6, 1, format_percent, "strong", always=True),
    RunColumn(
        "trend",
        render=lambda run, width, now, trend: [(sparkline(trend, width, (0.0, 100.0)), "live")],
        least=10,
        drop=8,
        growth=1,
        applies_to=lambda run: run.state.is_live and run.target_accuracy is not None,
    ),
    RunColumn(
        "alarm",
        render=lambda run, *_: [(name_alarms(run.alarms), "warn")],
        least=11,
        drop=3,
        growth=2,
        applies_to=lambda run: bool(run.alarms),
    ),
    _number("source", "source_accuracy", 6, 5, format_percent, always=True),
    RunColumn("progress", render=_progress, least=11, drop=4, growth=4, sort="iteration", largest_first=True),
    _number("took", "seconds", 5, 6, lambda seconds: format_duration(seconds) if seconds else "–", always=True),
    RunColumn(
        "created",
        render=lambda run, width, now, trend: [(format_age_of(run.created, now), "muted")],
        least=7,
        drop=7,
        right=True,
        sort="created",
        largest_first=True,
    ),
    _field("preset", "preset", 7, 11, role="muted"),
    _field("device", "device", 6, 12, role="muted"),
    _number("pseudo", "pseudo_label_accuracy", 6, 10, format_percent),
    _number("GPU %", "gpu_use", 5, 13, "{:.0f}".format, "muted"),
    _number("GPU mem.", "gpu_memory", 8, 13, format_bytes, "muted"),
    _number("memory", "memory", 8, 13, format_bytes, "muted"),
    _number("energy", "energy", 8, 13, format_energy, "muted"),
    RunColumn(
        "name and tags",
        render=lambda run, *_: [
            (f"{run.name} " if run.name else "", ""),
            (" ".join(f"#{tag}" for tag in run.tags), "tag"),
        ],
        least=13,
        drop=5,
        growth=6,
        sort="name",
        applies_to=lambda run: bool(run.name or run.tags),
    ),
)
SETTINGS_PLACE = next(place for place, column in enumerate(COLUMNS, 1) if column.title == "seed")
"""Settings are columns from here on."""
MAX_VALUE = 24
"""The width to which the texts of settings are cut."""
TITLES = frozenset(column.title for column in COLUMNS) | {"name"}
SORT_TITLES = {column.sort: column.title or "state" for column in COLUMNS if column.sort}
"""The fields that runs can be sorted by, and the titles of their columns."""
LARGEST_FIRST = frozenset(column.sort for column in COLUMNS if column.largest_first)
FIXED_COLUMNS = ("", "run")
"""Columns that cannot be hidden."""


def is_largest_first(sort: str) -> bool:
    """Whether the largest value of a field or a setting comes first, unless the order is reversed."""
    return sort in LARGEST_FIRST or sort not in SORT_TITLES


@lru_cache(maxsize=256)  # equal columns are compared to find out what has to be repainted
def make_setting_column(name: str) -> RunColumn:
    """Return the column of a setting; those that differ first give way last."""
    column = setting_column(name)

    def render(run: RunRow, *_: object) -> list[Span]:
        return [(setting_text(run.settings, name), "")]

    def applies_to(run: RunRow) -> bool:
        return name in run.settings

    return RunColumn(
        column.title, right=column.right, render=render, applies_to=applies_to, sort=name, largest_first=True
    )


def setting_columns(chosen: Iterable[str], varied: Iterable[str], hidden: Container[str], sort: str) -> list[RunColumn]:
    """Return the columns of the chosen settings and of those that differ; the runs' order is always shown."""
    kept = dict.fromkeys([*chosen, *([sort] if sort not in SORT_TITLES else [])])
    others = [name for name in varied if name not in kept and name not in hidden and name not in TITLES]
    # The first one that differs stays as long as the seed, and the second as long as the progress.
    drops = [*(3 for _ in kept), *(3 if place == 0 else 4 if place == 1 else 8 + place for place in range(len(others)))]
    return [replace(make_setting_column(name), drop=drop) for name, drop in zip([*kept, *others], drops, strict=True)]


def applicable_columns(
    runs: Iterable[RunRow],
    hidden: frozenset[str] = frozenset(),
    sort: str = "",
    chosen: Iterable[str] = (),
    varied: Sequence[str] = (),
) -> tuple[RunColumn, ...]:
    """The columns that are not hidden, with those of settings, in which any of these runs has a value.

    Methods are shown in full, and so is the title with an arrow of the column that the runs are sorted by.
    """
    rows = tuple(runs)
    settings = setting_columns(chosen, varied[:MAX_COLUMNS], hidden, sort) if sort or chosen or varied else []
    in_full = {"method", *(column.title for column in settings)}

    def needed(column: RunColumn) -> int:
        arrow = int(bool(sort) and column.sort == sort)
        texts = (column.render(run, 0, 0.0, ())[0][0] for run in rows) if column.title in in_full else ()
        return max(column.least, len(column.title) + arrow, min(max(map(cell_len, texts), default=0), MAX_VALUE))

    return tuple(
        replace(column, least=needed(column))
        for column in (*COLUMNS[:SETTINGS_PLACE], *settings, *COLUMNS[SETTINGS_PLACE:])
        if (column.title not in hidden or column in settings)
        and (column.applies_to is None or any(map(column.applies_to, rows)))
    )


def fit_run_columns(columns: Sequence[RunColumn], width: int) -> list[tuple[RunColumn, int]]:
    """The columns that fit, with their widths; those with growth take up to three times their least width."""
    full = [column.least * (3 if column.growth else 1) for column in columns]
    return [(columns[position], size) for position, size in fit_columns(columns, full, width).items()]


def render_cell(
    column: RunColumn, run: RunRow, width: int, now: float = 0.0, trend: Sequence[float] = ()
) -> list[Span]:
    """Render a printable cell of exactly `width` columns."""
    return fit_spans(column.render(run, width, now, trend), width, right=column.right)


class RunTable(GuardedHandlers, ScrollView, can_focus=True):
    """A table of runs. The cursor stays on its run when others are added above it."""

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {"runs--head", "runs--cursor", "runs--selected"}
    DEFAULT_CSS = """
    RunTable { overflow-x: hidden; scrollbar-size-vertical: 1; }
    RunTable > .runs--head { color: $foreground 50%; text-style: bold; }
    RunTable > .runs--cursor { background: $foreground 10%; }
    RunTable:focus > .runs--cursor { background: $primary 35%; }
    RunTable > .runs--selected { color: $text-accent; text-style: bold; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "move(1)", "Down", id="runs.down", show=False),
        Binding("up,k", "move(-1)", "Up", id="runs.up", show=False),
        Binding("pagedown,ctrl+d", "page(1)", "Page down", id="runs.page_down", show=False),
        Binding("pageup,ctrl+u", "page(-1)", "Page up", id="runs.page_up", show=False),
        Binding("home,g", "go_to_end(False)", "First run", id="runs.first", show=False),
        Binding("end,G", "go_to_end(True)", "Last run", id="runs.last", show=False),
        Binding("enter", "open", "Open", id="runs.open", tooltip="Watch this run's charts"),
        Binding("space", "select", "Select", id="runs.select", tooltip="Select for comparing"),
        Binding(
            "V,shift+space",
            "select_range",
            "Select range",
            id="runs.select_range",
            show=False,
            tooltip="Select from the last selected run to this one",
        ),
        Binding(
            "ctrl+a", "select_all", "Select all", id="runs.select_all", show=False, tooltip="Select all listed runs"
        ),
    ]

    @dataclass(eq=False, repr=False)
    class RunHighlighted(Message):
        run: RunRow | None

    @dataclass(eq=False, repr=False)
    class RunOpened(Message):
        run: RunRow

    class SelectionChanged(Message):
        """Other runs are selected."""

    class IdsRequested(Message):
        """Runs to select are not in the page that the table holds: `Listing.ids` is needed."""

    @dataclass(eq=False, repr=False)
    class SortRequested(Message):
        """The user clicked on the header of a column."""

        sort: str

    @dataclass(eq=False, repr=False)
    class PageRequested(Message):
        """Visible rows are not in the page that the table holds."""

        offset: int

    order: reactive[tuple[str, bool]] = reactive(("created", True))
    """The field that the runs are sorted by, and whether the largest value comes first."""

    def __init__(self, *, now: Callable[[], float], id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._now = now
        self._listing = Listing()
        self._hidden: frozenset[str] = frozenset()
        self._chosen: tuple[str, ...] = ()
        self._cursor = 0
        self.selected: tuple[str, ...] = ()
        """The ids of the selected runs, in the order of their selection."""
        self._awaited: Callable[[Sequence[str]], None] | None = None
        """What selects runs once the ids of all are read."""
        self._columns_by_listing: list[tuple[object, Listing, tuple[RunColumn, ...]]] = []
        self._background = Style()
        self._fitted: list[tuple[RunColumn, int]] = []

    @property
    def cursor_run(self) -> RunRow | None:
        return self._run_at(self._cursor)

    def _run_at(self, index: int) -> RunRow | None:
        row = index - self._listing.offset
        return self._listing.rows[row] if 0 <= row < len(self._listing.rows) else None

    def show(self, listing: Listing) -> None:
        """Show a page of runs; the cursor follows its run."""
        old_listing, old_cursor = self._listing, self._cursor
        cursor_run, same_query = self.cursor_run, listing.query == self._listing.query
        self._listing = listing
        self._cursor = min(self._cursor, max(listing.total - 1, 0)) if same_query else 0
        if cursor_run and same_query:
            rows = [row for row, run in enumerate(listing.rows) if run.id == cursor_run.id]
            shift = listing.offset + rows[0] - self._cursor if rows and self._cursor else 0
            self._cursor += shift
            if shift:
                self.scroll_to(y=self.scroll_offset.y + shift, animate=False)
        self.virtual_size = Size(self.scrollable_content_region.width, listing.total + 1)
        self._refresh_rows(old_listing, old_cursor)
        if not same_query:
            self._awaited = None
        if self._awaited and listing.ids:
            select, self._awaited = self._awaited, None
            select(listing.ids)
        if (self.cursor_run and self.cursor_run.id) != (cursor_run and cursor_run.id):
            self.post_message(self.RunHighlighted(self.cursor_run))
        self._request_page()

    def _refresh_rows(self, before: Listing, old_cursor: int) -> None:
        """Repaint only changed rows if rows, columns and cursor are where they were."""
        listing = self._listing
        shapes = [(shown.offset, shown.total, len(shown.rows), self._columns_of(shown)) for shown in (before, listing)]
        if shapes[0] != shapes[1] or old_cursor != self._cursor:
            self.refresh()
            return
        for row, (old, new) in enumerate(zip(before.rows, listing.rows, strict=True)):
            line = listing.offset + row - self.scroll_offset.y + 1
            if old != new and 1 <= line < self.size.height:
                self.refresh(Region(0, line, self.size.width, 1))

    def on_mount(self) -> None:
        self.set_interval(30.0, self.refresh)  # updates the ages

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
        elif y == 2 and not self._listing.total and self._listing.query:
            text, role = "   No run matches. Escape clears the filter.", "muted"
        return Strip([Segment(text, role_style(self, style, role))]).adjust_cell_length(width, style)

    def _render_run(self, run: RunRow, width: int, style: Style) -> Strip:
        mark = self.get_component_rich_style("runs--selected", partial=True)
        segments = [Segment("┃", style + mark) if run.id in self.selected else Segment(" ", style)]
        now, trend = self._now(), self._listing.trends.get(run.id, ())
        for column, size in self._fitted:
            spans = [*render_cell(column, run, size, now, trend), (" ", "")]
            segments += [Segment(text, role_style(self, style, role)) for text, role in spans]
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
        others = tuple(selected for selected in self.selected if selected != run.id)
        self.selected = others if run.id in self.selected else (*others, run.id)
        self.post_message(self.SelectionChanged())
        self.refresh()
        self.action_move(1)

    def action_select_all(self) -> None:
        self._with_ids(self._select)

    def action_select_range(self) -> None:
        """Select the runs from the last selected one to the cursor, or this one if none is selected."""
        run = self.cursor_run
        if run is None:
            return
        first, last = self.selected[-1] if self.selected else run.id, run.id

        def select(ids: Sequence[str]) -> None:
            places = [ids.index(id_) if id_ in ids else ids.index(last) for id_ in (first, last)]
            low, high = sorted(places)
            between = ids[low : high + 1]
            self._select(between if places[0] <= places[1] else between[::-1])

        page = [row.id for row in self._listing.rows]
        if first in page:
            select(page)
        else:
            self._with_ids(lambda ids: select(ids) if last in ids else None)

    def _with_ids(self, select: Callable[[Sequence[str]], None]) -> None:
        """Call `select` with the ids of all listed runs: at once if the table has them, or when they are read."""
        if len(self._listing.rows) == self._listing.total:
            select([row.id for row in self._listing.rows])
        else:
            self._awaited = select
            self.post_message(self.IdsRequested())

    @property
    def awaits_ids(self) -> bool:
        return self._awaited is not None

    def _select(self, runs: Iterable[str]) -> None:
        """Select these runs as well, the last of them last."""
        added = dict.fromkeys(runs)
        self.selected = (*(run for run in self.selected if run not in added), *added)
        self.notify(f"{format_count(len(self.selected), 'run')} selected", timeout=2, markup=False)
        self.post_message(self.SelectionChanged())
        self.refresh()

    def clear_selection(self) -> None:
        self.selected, self._awaited = (), None
        self.post_message(self.SelectionChanged())
        self.refresh()

    def _columns_of(self, listing: Listing) -> tuple[RunColumn, ...]:
        """Return the columns of a listing, found once for the last two."""
        key = (self._hidden, self.order[0], self._chosen)
        for known, shown, columns in self._columns_by_listing:
            if shown is listing and known == key:
                return columns
        columns = applicable_columns(listing.rows, self._hidden, self.order[0], self._chosen, listing.varied)
        self._columns_by_listing = [*self._columns_by_listing[-1:], (key, listing, columns)]
        return columns

    def use_columns(self, hidden: Iterable[str], settings: Iterable[str]) -> None:
        """Hide the columns with these titles, and show these settings even if they do not differ."""
        self._hidden = frozenset(hidden) - set(FIXED_COLUMNS)
        self._chosen = tuple(filter(None, settings))
        self.refresh()

    def sort_fields(self) -> list[str]:
        """Return the fields of the visible columns that runs can be sorted by."""
        return [column.sort for column, _ in self._fit_columns() if column.sort]

    def _fit_columns(self) -> list[tuple[RunColumn, int]]:
        return fit_run_columns(self._columns_of(self._listing), self.scrollable_content_region.width - 1)

    def on_click(self, event: events.Click) -> None:
        if event.y == 0:
            end = 1
            for column, size in self._fit_columns():
                end += size + 1
                if event.x < end:
                    if column.sort:
                        self.post_message(self.SortRequested(column.sort))
                    break
        else:
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
