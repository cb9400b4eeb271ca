"""The board's tables, stacked, with a cursor that moves from cell to cell."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from clarinet_tui.ui.error_guard import guard_render_line
from clarinet_tui.ui.text.board import BoardLayout, BoardLine
from clarinet_tui.ui.text.styled import Spans
from clarinet_tui.ui.textual_private import GuardedHandlers
from clarinet_tui.ui.widgets.styled_text import role_style


class CellPosition(NamedTuple):
    """Indices of a line and of a method of its table."""

    line: int = 0
    column: int = 0


class BoardTable(GuardedHandlers, ScrollView, can_focus=True):
    """Renders a board's layout. A table with more methods than fit scrolls with the cursor.

    Textual's DataTable has one header and one cursor: the board would need one for each table, code that moves between
    them, and about a tenth more processor time for its first paint.
    """

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {"board--cursor", "board--stripe"}
    DEFAULT_CSS = """
    BoardTable { overflow-x: hidden; scrollbar-size: 0 0; }
    BoardTable > .board--stripe { background: $foreground 4%; }
    BoardTable > .board--cursor { background: $foreground 12%; }
    BoardTable:focus > .board--cursor { background: $primary 35%; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", "Runs", id="cells.open", tooltip="Show the runs of this cell in History"),
        Binding("down,j", "move(1, 0)", "Down", id="cells.down", show=False),
        Binding("up,k", "move(-1, 0)", "Up", id="cells.up", show=False),
        Binding("left,h", "move(0, -1)", "Left", id="cells.left", show=False),
        Binding("right,l", "move(0, 1)", "Right", id="cells.right", show=False),
        Binding("home,g", "go_to_end(False)", "First cell", id="cells.first", show=False),
        Binding("end,G", "go_to_end(True)", "Last cell", id="cells.last", show=False),
        Binding("a", "next_table", "Ablations", id="cells.table", tooltip="Go to the next table"),
    ]

    class CellHighlighted(Message):
        """The cursor is on another cell, or its table has changed."""

    class CellSelected(Message):
        """The runs of the cell at the cursor are wanted."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._board = BoardLayout()
        self._cursor = CellPosition()
        self._first_method: dict[int, int] = {}
        """The first visible method of each table."""

    @property
    def _line(self) -> BoardLine:
        return self._board.lines[self._cursor.line]

    @property
    def cell(self) -> tuple[str, str] | None:
        """Method and task at the cursor."""
        return (self.table_methods[self._cursor.column], self._line.task) if self._line.task else None

    @property
    def table_methods(self) -> tuple[str, ...]:
        """The methods of the table with the cursor."""
        return self._board.methods[self._line.table]

    def show(self, layout: BoardLayout) -> None:
        """Show a layout; the cursor stays on its cell if that still exists."""
        if layout == self._board:
            return
        old_cell, old_table = self.cell, self._line.table
        self._board = layout
        cells = {position: (layout.lines[position.line], method) for position, method in self._cells()}
        same_cell = [position for position, (line, method) in cells.items() if old_cell == (method, line.task)]
        same_table = [position for position in same_cell if cells[position][0].table == old_table]
        self._cursor = next(iter(same_table or same_cell or cells), CellPosition())
        self.on_resize()
        self.refresh()
        if self.cell != old_cell:
            self.post_message(self.CellHighlighted())

    def _cells(self) -> list[tuple[CellPosition, str]]:
        """The positions that the cursor can have, and their methods."""
        return [
            (CellPosition(number, column), method)
            for number, line in enumerate(self._board.lines)
            if line.task
            for column, method in enumerate(self._board.methods[line.table])
        ]

    def on_resize(self) -> None:
        self.virtual_size = Size(self.size.width, len(self._board.lines))
        self._scroll_to_cursor()

    @property
    def _visible_methods(self) -> int:
        """The number of methods that fit."""
        return max(1, (self.size.width - self._board.label_width) // self._board.column_width)

    @guard_render_line
    def render_line(self, y: int) -> Strip:
        width, style = self.size.width, self.rich_style
        number = self.scroll_offset.y + y
        line = self._board.lines[number] if number < len(self._board.lines) else BoardLine(0)
        if not line.cells:
            return self._render_cell(line.title, width, style)
        if line.row is not None and line.row % 2 == 0:
            style = style + self.get_component_rich_style("board--stripe")
        label, *cells = line.cells
        first = self._first_method.get(line.table, 0)
        last = first + self._visible_methods
        strips = [self._render_cell(label, self._board.label_width, style)]
        for column, spans in list(enumerate(cells))[first:last]:
            is_at_cursor = line.task and (number, column) == self._cursor
            cell_style = style + self.get_component_rich_style("board--cursor") if is_at_cursor else style
            strips.append(self._render_cell(spans, self._board.column_width, cell_style))
        if line.row is None and last < len(cells):
            strips.append(self._render_cell(((" ›", "live"),), 2, style))
        if line.row is None and first:
            strips[0] = self._render_cell((("‹", "live"),), self._board.label_width, style)
        return Strip.join(strips).adjust_cell_length(width, style)

    def _render_cell(self, spans: Spans, width: int, style: Style) -> Strip:
        segments = [Segment(text, role_style(self, style, role)) for text, role in spans if text]
        return Strip(segments).adjust_cell_length(width, style)

    def action_move(self, rows: int, columns: int) -> None:
        """Move the cursor; below a table's last task comes the next table's first one."""
        tasks = [number for number, line in enumerate(self._board.lines) if line.task]
        if tasks:
            number = tasks[min(max(tasks.index(self._cursor.line) + rows, 0), len(tasks) - 1)]
            last_column = len(self._board.methods[self._board.lines[number].table]) - 1
            self._move_cursor(CellPosition(number, min(max(self._cursor.column + columns, 0), last_column)))

    def action_go_to_end(self, last: bool) -> None:
        if cells := self._cells():
            self._move_cursor(cells[-1 if last else 0][0])

    def action_next_table(self) -> None:
        """Move to the next table and scroll its title to the top."""
        lines = list(enumerate(self._board.lines))
        first_tasks = {line.table: number for number, line in reversed(lines) if line.task}
        if first_tasks:
            tables = sorted(first_tasks)
            table = tables[(tables.index(self._line.table) + 1) % len(tables)]
            self.scroll_to(y=next(number for number, line in lines if line.table == table), animate=False)
            self._move_cursor(CellPosition(first_tasks[table]))

    def action_select(self) -> None:
        if self.cell:
            self.post_message(self.CellSelected())

    def on_click(self, event: events.Click) -> None:
        offset, lines = event.get_content_offset(self), self._board.lines
        number = self.scroll_offset.y + offset.y if offset else len(lines)
        if offset is None or number >= len(lines) or offset.x < self._board.label_width:
            return
        line = lines[number]
        column = (offset.x - self._board.label_width) // self._board.column_width
        column += self._first_method.get(line.table, 0)
        if line.task and column < len(line.cells) - 1:
            self._move_cursor(CellPosition(number, column))
            if event.chain == 2:
                self.action_select()

    def _move_cursor(self, position: CellPosition) -> None:
        before, self._cursor = self._cursor, position
        self._scroll_to_cursor()
        self.refresh()
        if position != before:
            self.post_message(self.CellHighlighted())

    def _scroll_to_cursor(self) -> None:
        """Make the task at the cursor visible; with the first task also the header, with the last one the averages."""
        (number, column), at_cursor = self._cursor, self._line
        below = [
            (index, line)
            for index, line in enumerate(self._board.lines)
            if index > number and line.table == at_cursor.table and line.row is not None
        ]
        bottom = number if not below or any(line.task for _, line in below) else below[-1][0]
        top = number - (2 if at_cursor.row == 0 else 0)
        y = min(max(self.scroll_offset.y, bottom - max(1, self.size.height) + 1), top)
        if y != self.scroll_offset.y:
            self.scroll_to(y=y, animate=False)
        left = self._first_method.get(at_cursor.table, 0)
        self._first_method[at_cursor.table] = min(max(left, column - self._visible_methods + 1), column)
