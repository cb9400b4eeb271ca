"""A form field with a few choices in rows, of which one or several are selected."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from clarinet_tui.ui.text.launch import Choice
from clarinet_tui.ui.text.styled import fit_cell, styled

GAP = 3
"""Columns between two choices."""


class Choices(Widget, can_focus=True):
    """Arrows move between choices and, beyond the first and last row, to the next field; space selects."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "Choices { height: auto; width: 1fr; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space,enter", "select", "Select", key_display="space", id="form.pick", tooltip="Select or deselect"),
        Binding("right,l", "move(1)", "Next choice", id="form.right", show=False),
        Binding("left,h", "move(-1)", "Previous choice", id="form.left", show=False),
        Binding("down,j", "move_row(1)", "Down", id="form.down", show=False),
        Binding("up,k", "move_row(-1)", "Up", id="form.up", show=False),
    ]

    @dataclass
    class SelectionChanged(Message):
        """The user changed the selection."""

        choices: Choices
        values: tuple[str, ...]

    @dataclass
    class ChoiceHighlighted(Message):
        """The cursor moved to another choice."""

        choice: Choice | None

    choices: reactive[tuple[Choice, ...]] = reactive(())
    selected: reactive[tuple[str, ...]] = reactive(())
    cursor: reactive[int] = reactive(0)

    def __init__(self, *, multiple: bool = False, one_per_line: bool = False, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.multiple, self.one_per_line = multiple, one_per_line

    @property
    def highlighted(self) -> Choice | None:
        return self.choices[self.cursor] if self.cursor < len(self.choices) else None

    def show(self, choices: Iterable[Choice], selected: Sequence[str]) -> None:
        """Show these choices with these values selected."""
        new = tuple(choices)
        if new != self.choices:
            labels = [choice.label for choice in self.choices]
            self.choices = new
            self.refresh(layout=labels != [choice.label for choice in new])
        self.selected = tuple(selected)
        self.cursor = min(self.cursor, max(len(new) - 1, 0))

    def _columns(self, width: int) -> list[int]:
        """The widths of as many columns as fit, as in `ls`."""
        sizes = [cell_len(choice.label) + 2 for choice in self.choices]
        for count in range(1 if self.one_per_line else len(sizes), 1, -1):
            widths = [max(sizes[column::count]) for column in range(count)]
            if sum(widths) + GAP * (count - 1) <= width:
                return widths
        return [max(sizes, default=0)]

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return max(1, -(-len(self.choices) // len(self._columns(width))))

    def render(self) -> Content:
        widths = self._columns(self.size.width)
        rows = []
        for start in range(0, len(self.choices), len(widths)):
            row = zip(self.choices[start : start + len(widths)], widths, strict=False)
            cells = [self._render_cell(start + index, choice, width) for index, (choice, width) in enumerate(row)]
            rows.append(Content(" " * GAP).join(cells).truncate(self.size.width, ellipsis=True))
        return Content("\n").join(rows)

    def _render_cell(self, index: int, choice: Choice, width: int) -> Content:
        is_selected = choice.value in self.selected
        role = "chosen" if index == self.cursor and self.has_focus else "strong" if is_selected else choice.role
        on, off = ("■", "□") if self.multiple else ("●", "○")
        glyph_role = "live" if is_selected and role != "chosen" else role
        cell = styled((f"{on if is_selected else off} ", glyph_role), (choice.label, role))
        return fit_cell(cell, width + GAP) + styled(*choice.suffix) if self.one_per_line else fit_cell(cell, width)

    def watch_cursor(self) -> None:
        self.post_message(self.ChoiceHighlighted(self.highlighted))

    def on_focus(self) -> None:
        """Move the cursor to the selected choice, if there can be only one."""
        selected = [index for index, choice in enumerate(self.choices) if choice.value in self.selected]
        if selected and not self.multiple:
            self.cursor = selected[0]
        self.post_message(self.ChoiceHighlighted(self.highlighted))
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def action_move(self, step: int) -> None:
        self.cursor = min(max(self.cursor + step, 0), max(len(self.choices) - 1, 0))

    def action_move_row(self, step: int) -> None:
        columns, last = len(self._columns(self.size.width)), len(self.choices) - 1
        index = self.cursor + step * columns
        if 0 <= index <= last or (step > 0 and self.cursor // columns < last // columns):
            self.cursor = min(index, last)
        elif step > 0:
            self.screen.focus_next()
        else:
            self.screen.focus_previous()

    def action_select(self) -> None:
        choice = self.highlighted
        if choice is None:
            return
        if not self.multiple:
            self.selected = (choice.value,)
        elif choice.value in self.selected:
            self.selected = tuple(value for value in self.selected if value != choice.value)
        else:
            values = {*self.selected, choice.value}
            self.selected = tuple(choice.value for choice in self.choices if choice.value in values)
        self.post_message(self.SelectionChanged(self, self.selected))

    def on_click(self, event: events.Click) -> None:
        widths = self._columns(self.size.width)
        column, edge = 0, widths[0] + GAP
        while event.x >= edge and column < len(widths) - 1:
            column += 1
            edge += widths[column] + GAP
        index = event.y * len(widths) + column
        if index < len(self.choices):
            self.cursor = index
            self.action_select()
