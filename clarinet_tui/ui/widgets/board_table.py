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

from clarinet_tui.ui.error_guard import Guarded, drawn_carefully
from clarinet_tui.ui.text.board_layout import Pieces, Sheet, Spot
from clarinet_tui.ui.widgets.role_styles import RoleStyles, role_classes, role_rules


@dataclass(frozen=True)
class Drawn:
    """One line of the terminal: of which table, and of which of its rows; an empty one has no places."""

    table: int
    row: int | None
    places: tuple[Pieces, ...] = ()
    title: Pieces = ()


class BoardTable(Guarded, ScrollView, can_focus=True):
    """Draws a sheet. Where a table has more methods than fit, the cursor takes the window with it."""

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {"board--cursor", "board--stripe", *role_classes("board")}
    DEFAULT_CSS = """
    BoardTable { overflow-x: hidden; scrollbar-size: 0 0; }
    BoardTable > .board--stripe { background: $foreground 4%; }
    BoardTable > .board--cursor { background: $foreground 12%; }
    BoardTable:focus > .board--cursor { background: $primary 35%; }
    """ + role_rules("BoardTable", "board")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Runs", id="cells.open", tooltip="Show the runs of this cell in History"),
        Binding("down,j", "move(1, 0)", "Down", id="cells.down", show=False),
        Binding("up,k", "move(-1, 0)", "Up", id="cells.up", show=False),
        Binding("left,h", "move(0, -1)", "Left", id="cells.left", show=False),
        Binding("right,l", "move(0, 1)", "Right", id="cells.right", show=False),
        Binding("home,g", "end(False)", "First cell", id="cells.first", show=False),
        Binding("end,G", "end(True)", "Last cell", id="cells.last", show=False),
        Binding("a", "next_table", "Ablations", id="cells.table", tooltip="To the next table, such as the ablations"),
    ]

    @dataclass
    class CellHighlighted(Message):
        """The cursor is on another cell."""

        method: str
        task: str

    @dataclass
    class CellChosen(Message):
        """The runs of a cell are asked for."""

        method: str
        task: str

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._sheet = Sheet()
        self._lines: list[Drawn] = []
        self._spot = Spot()
        self._first: dict[int, int] = {}
        """Of each table, the first method in sight."""
        self._roles = RoleStyles(self, "board")

    @property
    def cell(self) -> tuple[str, str] | None:
        """Method and task under the cursor."""
        if not self._sheet.tables:
            return None
        table = self._sheet.tables[self._spot.table]
        task = table.rows[self._spot.row].task
        return (table.methods[self._spot.column], task) if task else None

    @property
    def table(self) -> tuple[str, ...]:
        """The methods of the table that the cursor is in."""
        return self._sheet.tables[self._spot.table].methods if self._sheet.tables else ()

    def show(self, sheet: Sheet) -> None:
        """The same cell stays under the cursor, if it is still there."""
        if sheet == self._sheet:
            return
        before, kept = self.cell, self._spot
        self._sheet, self._lines = sheet, _drawn(sheet)
        found = [spot for spot in self._spots() if before == self._at(spot)]
        same = [spot for spot in found if spot.table == kept.table]
        self._spot = next(iter(same or found or self._spots()), Spot())
        self.virtual_size = Size(self.size.width, len(self._lines))
        self._keep_in_sight()
        self.refresh()
        if self.cell != before:
            self._tell()

    def _spots(self) -> list[Spot]:
        return [
            Spot(number, row, column)
            for number, table in enumerate(self._sheet.tables)
            for row, one in enumerate(table.rows)
            if one.task
            for column in range(len(table.methods))
        ]

    def _at(self, spot: Spot) -> tuple[str, str | None]:
        table = self._sheet.tables[spot.table]
        return table.methods[spot.column], table.rows[spot.row].task

    def on_resize(self) -> None:
        self.virtual_size = Size(self.size.width, len(self._lines))
        self._keep_in_sight()

    # -- drawing ---------------------------------------------------------------------------------------------------

    @property
    def _fitting(self) -> int:
        """How many methods are in sight."""
        return max(1, (self.size.width - self._sheet.label) // self._sheet.column)

    @drawn_carefully
    def render_line(self, y: int) -> Strip:
        width, style = self.size.width, self.rich_style
        number = self.scroll_offset.y + y
        if number >= len(self._lines):
            return Strip.blank(width, style)
        line = self._lines[number]
        if line.title:
            segments = [Segment(text, self._roles.on(style, role)) for text, role in line.title]
            return Strip(segments).adjust_cell_length(width, style)
        if not line.places:
            return Strip.blank(width, style)
        if line.row is not None and line.row % 2 == 0:
            style = style + self.get_component_rich_style("board--stripe")
        return Strip.join(self._places(line, style)).adjust_cell_length(width, style)

    def _places(self, line: Drawn, style: Style) -> list[Strip]:
        label, *places = line.places
        first = self._first.get(line.table, 0)
        last = first + self._fitting
        strips = [self._place(label, self._sheet.label, style)]
        for column, pieces in list(enumerate(places))[first:last]:
            here = Spot(line.table, line.row or 0, column) == self._spot and line.row is not None
            under = style + self.get_component_rich_style("board--cursor") if here else style
            strips.append(self._place(pieces, self._sheet.column, under))
        if line.row is None and last < len(places):
            strips.append(self._place(((" ›", "live"),), 2, style))
        if line.row is None and first:
            strips[0] = self._place((("‹", "live"),), self._sheet.label, style)
        return strips

    def _place(self, pieces: Pieces, width: int, style: Style) -> Strip:
        segments = [Segment(text, self._roles.on(style, role)) for text, role in pieces if text]
        return Strip(segments).adjust_cell_length(width, style)

    # -- moving ----------------------------------------------------------------------------------------------------

    def action_move(self, rows: int, columns: int) -> None:
        """Down from a table's last task is the first one of the next table."""
        if not self._sheet.tables:
            return
        spots = self._spots()
        tasks = list(dict.fromkeys((spot.table, spot.row) for spot in spots))
        place = tasks.index((self._spot.table, self._spot.row)) + rows
        table, row = tasks[min(max(place, 0), len(tasks) - 1)]
        most = len(self._sheet.tables[table].methods) - 1
        self._go_to(Spot(table, row, min(max(self._spot.column + columns, 0), most)))

    def action_end(self, last: bool) -> None:
        if spots := self._spots():
            self._go_to(spots[-1 if last else 0])

    def action_next_table(self) -> None:
        """Its title comes to the top."""
        tables = sorted({spot.table for spot in self._spots()})
        if not tables:
            return
        table = tables[(tables.index(self._spot.table) + 1) % len(tables)]
        top = next(number for number, line in enumerate(self._lines) if line.table == table)
        self.scroll_to(y=top, animate=False)
        self._go_to(next(spot for spot in self._spots() if spot.table == table))

    def action_choose(self) -> None:
        if self.cell:
            self.post_message(self.CellChosen(*self.cell))

    def on_click(self, event: events.Click) -> None:
        place = event.get_content_offset(self)
        number = self.scroll_offset.y + place.y if place else len(self._lines)
        if place is None or number >= len(self._lines) or place.x < self._sheet.label:
            return
        line = self._lines[number]
        column = (place.x - self._sheet.label) // self._sheet.column + self._first.get(line.table, 0)
        if line.row is not None and column < len(line.places) - 1:
            self._go_to(Spot(line.table, line.row, column))
            if event.chain == 2:
                self.action_choose()

    def _go_to(self, spot: Spot) -> None:
        if self._at(spot)[1] is None:
            return
        before, self._spot = self._spot, spot
        self._keep_in_sight()
        self.refresh()
        if spot != before:
            self._tell()

    def _tell(self) -> None:
        if self.cell:
            self.post_message(self.CellHighlighted(*self.cell))

    def _keep_in_sight(self) -> None:
        """The whole task; with the first one the table's head, and with the last one its averages."""
        if not self._sheet.tables:
            return
        table, row = self._spot.table, self._spot.row
        rows = self._sheet.tables[table].rows
        last = row if any(one.task for one in rows[row + 1 :]) else len(rows) - 1
        numbers = [number for number, line in enumerate(self._lines) if line.table == table and line.row is not None]
        near = [number for number in numbers if row <= (self._lines[number].row or 0) <= last]
        top, bottom = near[0] - (2 if row == 0 else 0), near[-1]
        now = self.scroll_offset.y
        wanted = min(max(now, bottom - max(1, self.size.height) + 1), top)
        if wanted != now:
            self.scroll_to(y=wanted, animate=False)
        column, left = self._spot.column, self._first.get(table, 0)
        self._first[table] = min(max(left, column - self._fitting + 1), column)


def _drawn(sheet: Sheet) -> list[Drawn]:
    """Line by line."""
    found: list[Drawn] = []
    for number, table in enumerate(sheet.tables):
        if number:
            found.append(Drawn(number - 1, None))
        found += [Drawn(number, None, title=table.title), Drawn(number, None, table.head)]
        for place, row in enumerate(table.rows):
            found += [Drawn(number, place, places) for places in row.lines]
            found += [Drawn(number, None)] * sheet.gap
    return found
