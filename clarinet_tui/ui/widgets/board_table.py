"""The board's tables below each other, with a cursor that goes from cell to cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from clarinet_tui.ui.error_guard import GuardedHandlers, guard_render_line
from clarinet_tui.ui.text.board_cells import BoardLayout, CellPosition
from clarinet_tui.ui.text.styled import Spans
from clarinet_tui.ui.widgets.styled_text import RoleStyles, role_classes, role_css


@dataclass(frozen=True)
class ScreenLine:
    """One line of the terminal: of which table, and of which of its rows; an empty one has no places."""

    table: int
    row: int | None
    cells: tuple[Spans, ...] = ()
    title: Spans = ()


class BoardTable(GuardedHandlers, ScrollView, can_focus=True):
    """Draws a sheet. Where a table has more methods than fit, the cursor takes the window with it."""

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {"board--cursor", "board--stripe", *role_classes("board")}
    DEFAULT_CSS = """
    BoardTable { overflow-x: hidden; scrollbar-size: 0 0; }
    BoardTable > .board--stripe { background: $foreground 4%; }
    BoardTable > .board--cursor { background: $foreground 12%; }
    BoardTable:focus > .board--cursor { background: $primary 35%; }
    """ + role_css("BoardTable", "board")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", "Runs", id="cells.open", tooltip="Show the runs of this cell in History"),
        Binding("down,j", "move(1, 0)", "Down", id="cells.down", show=False),
        Binding("up,k", "move(-1, 0)", "Up", id="cells.up", show=False),
        Binding("left,h", "move(0, -1)", "Left", id="cells.left", show=False),
        Binding("right,l", "move(0, 1)", "Right", id="cells.right", show=False),
        Binding("home,g", "go_to_end(False)", "First cell", id="cells.first", show=False),
        Binding("end,G", "go_to_end(True)", "Last cell", id="cells.last", show=False),
        Binding("a", "next_table", "Ablations", id="cells.table", tooltip="To the next table, such as the ablations"),
    ]

    @dataclass
    class CellHighlighted(Message):
        """The cursor is on another cell."""

        method: str
        task: str

    @dataclass
    class CellSelected(Message):
        """The runs of a cell are asked for."""

        method: str
        task: str

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._layout_shown = BoardLayout()
        self._lines: list[ScreenLine] = []
        self._cursor = CellPosition()
        self._first_method: dict[int, int] = {}
        """Of each table, the first method in sight."""
        self._roles = RoleStyles(self, "board")

    @property
    def cell(self) -> tuple[str, str] | None:
        """Method and task under the cursor."""
        if not self._layout_shown.tables:
            return None
        table = self._layout_shown.tables[self._cursor.table]
        task = table.rows[self._cursor.row].task
        return (table.methods[self._cursor.column], task) if task else None

    @property
    def table_methods(self) -> tuple[str, ...]:
        """The methods of the table that the cursor is in."""
        return self._layout_shown.tables[self._cursor.table].methods if self._layout_shown.tables else ()

    def show(self, sheet: BoardLayout) -> None:
        """The same cell stays under the cursor, if it is still there."""
        if sheet == self._layout_shown:
            return
        before, kept = self.cell, self._cursor
        self._layout_shown, self._lines = sheet, _screen_lines(sheet)
        found = [spot for spot in self._positions() if before == self._cell_at(spot)]
        same = [spot for spot in found if spot.table == kept.table]
        self._cursor = next(iter(same or found or self._positions()), CellPosition())
        self.virtual_size = Size(self.size.width, len(self._lines))
        self._scroll_to_cursor()
        self.refresh()
        if self.cell != before:
            self._post_highlighted()

    def _positions(self) -> list[CellPosition]:
        return [
            CellPosition(number, row, column)
            for number, table in enumerate(self._layout_shown.tables)
            for row, one in enumerate(table.rows)
            if one.task
            for column in range(len(table.methods))
        ]

    def _cell_at(self, spot: CellPosition) -> tuple[str, str | None]:
        table = self._layout_shown.tables[spot.table]
        return table.methods[spot.column], table.rows[spot.row].task

    def on_resize(self) -> None:
        self.virtual_size = Size(self.size.width, len(self._lines))
        self._scroll_to_cursor()

    # -- drawing ---------------------------------------------------------------------------------------------------

    @property
    def _visible_methods(self) -> int:
        """How many methods are in sight."""
        return max(1, (self.size.width - self._layout_shown.label_width) // self._layout_shown.column_width)

    @guard_render_line
    def render_line(self, y: int) -> Strip:
        width, style = self.size.width, self.rich_style
        number = self.scroll_offset.y + y
        if number >= len(self._lines):
            return Strip.blank(width, style)
        line = self._lines[number]
        if line.title:
            segments = [Segment(text, self._roles.apply(style, role)) for text, role in line.title]
            return Strip(segments).adjust_cell_length(width, style)
        if not line.cells:
            return Strip.blank(width, style)
        if line.row is not None and line.row % 2 == 0:
            style = style + self.get_component_rich_style("board--stripe")
        return Strip.join(self._render_cells(line, style)).adjust_cell_length(width, style)

    def _render_cells(self, line: ScreenLine, style: Style) -> list[Strip]:
        label, *places = line.cells
        first = self._first_method.get(line.table, 0)
        last = first + self._visible_methods
        strips = [self._render_cell(label, self._layout_shown.label_width, style)]
        for column, pieces in list(enumerate(places))[first:last]:
            here = CellPosition(line.table, line.row or 0, column) == self._cursor and line.row is not None
            under = style + self.get_component_rich_style("board--cursor") if here else style
            strips.append(self._render_cell(pieces, self._layout_shown.column_width, under))
        if line.row is None and last < len(places):
            strips.append(self._render_cell(((" ›", "live"),), 2, style))
        if line.row is None and first:
            strips[0] = self._render_cell((("‹", "live"),), self._layout_shown.label_width, style)
        return strips

    def _render_cell(self, pieces: Spans, width: int, style: Style) -> Strip:
        segments = [Segment(text, self._roles.apply(style, role)) for text, role in pieces if text]
        return Strip(segments).adjust_cell_length(width, style)

    # -- moving ----------------------------------------------------------------------------------------------------

    def action_move(self, rows: int, columns: int) -> None:
        """Down from a table's last task is the first one of the next table."""
        if not self._layout_shown.tables:
            return
        spots = self._positions()
        tasks = list(dict.fromkeys((spot.table, spot.row) for spot in spots))
        place = tasks.index((self._cursor.table, self._cursor.row)) + rows
        table, row = tasks[min(max(place, 0), len(tasks) - 1)]
        most = len(self._layout_shown.tables[table].methods) - 1
        self._move_cursor(CellPosition(table, row, min(max(self._cursor.column + columns, 0), most)))

    def action_go_to_end(self, last: bool) -> None:
        if spots := self._positions():
            self._move_cursor(spots[-1 if last else 0])

    def action_next_table(self) -> None:
        """Its title comes to the top."""
        tables = sorted({spot.table for spot in self._positions()})
        if not tables:
            return
        table = tables[(tables.index(self._cursor.table) + 1) % len(tables)]
        top = next(number for number, line in enumerate(self._lines) if line.table == table)
        self.scroll_to(y=top, animate=False)
        self._move_cursor(next(spot for spot in self._positions() if spot.table == table))

    def action_select(self) -> None:
        if self.cell:
            self.post_message(self.CellSelected(*self.cell))

    def on_click(self, event: events.Click) -> None:
        place = event.get_content_offset(self)
        number = self.scroll_offset.y + place.y if place else len(self._lines)
        if place is None or number >= len(self._lines) or place.x < self._layout_shown.label_width:
            return
        line = self._lines[number]
        column = (place.x - self._layout_shown.label_width) // self._layout_shown.column_width + self._first_method.get(
            line.table, 0
        )
        if line.row is not None and column < len(line.cells) - 1:
            self._move_cursor(CellPosition(line.table, line.row, column))
            if event.chain == 2:
                self.action_select()

    def _move_cursor(self, spot: CellPosition) -> None:
        if self._cell_at(spot)[1] is None:
            return
        before, self._cursor = self._cursor, spot
        self._scroll_to_cursor()
        self.refresh()
        if spot != before:
            self._post_highlighted()

    def _post_highlighted(self) -> None:
        if self.cell:
            self.post_message(self.CellHighlighted(*self.cell))

    def _scroll_to_cursor(self) -> None:
        """The whole task; with the first one the table's head, and with the last one its averages."""
        if not self._layout_shown.tables:
            return
        table, row = self._cursor.table, self._cursor.row
        rows = self._layout_shown.tables[table].rows
        last = row if any(one.task for one in rows[row + 1 :]) else len(rows) - 1
        numbers = [number for number, line in enumerate(self._lines) if line.table == table and line.row is not None]
        near = [number for number in numbers if row <= (self._lines[number].row or 0) <= last]
        top, bottom = near[0] - (2 if row == 0 else 0), near[-1]
        now = self.scroll_offset.y
        wanted = min(max(now, bottom - max(1, self.size.height) + 1), top)
        if wanted != now:
            self.scroll_to(y=wanted, animate=False)
        column, left = self._cursor.column, self._first_method.get(table, 0)
        self._first_method[table] = min(max(left, column - self._visible_methods + 1), column)


def _screen_lines(sheet: BoardLayout) -> list[ScreenLine]:
    """Line by line."""
    found: list[ScreenLine] = []
    for number, table in enumerate(sheet.tables):
        if number:
            found.append(ScreenLine(number - 1, None))
        found += [ScreenLine(number, None, title=table.title), ScreenLine(number, None, table.head)]
        for place, row in enumerate(table.rows):
            found += [ScreenLine(number, place, places) for places in row.lines]
            found += [ScreenLine(number, None)] * sheet.gap
    return found
