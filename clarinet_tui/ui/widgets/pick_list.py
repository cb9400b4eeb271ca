"""A list whose cursor stays on its line when other lines are added or removed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option


class PickList(OptionList):
    """Call `show` with ids and lines. The keys are those of the table of runs."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    PickList, PickList:focus { height: 1fr; border: none; padding: 0; background: transparent; }
    PickList { scrollbar-size-vertical: 1; text-wrap: nowrap; text-overflow: ellipsis; }
    PickList > .option-list--option { padding: 0; }
    PickList > .option-list--option-highlighted { background: $foreground 10%; text-style: none; }
    PickList:focus > .option-list--option-highlighted {
        color: $foreground; background: $primary 35%; text-style: none;
    }
    PickList > .option-list--option-hover { background: $foreground 5%; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", "Down", id="list.down", show=False),
        Binding("k", "cursor_up", "Up", id="list.up", show=False),
        Binding("g", "first", "First line", id="list.first", show=False),
        Binding("G", "last", "Last line", id="list.last", show=False),
        Binding("ctrl+d", "page_down", "Page down", id="list.page_down", show=False),
        Binding("ctrl+u", "page_up", "Page up", id="list.page_up", show=False),
    ]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, markup=False)
        self._shown: dict[str, Content] = {}

    @property
    def highlighted_id(self) -> str | None:
        """The id of the line at the cursor."""
        option = self.highlighted_option
        return option.id if option else None

    def show(self, lines: Sequence[tuple[str, Content]]) -> None:
        """Show these lines; if the ids are unchanged, repaint only changed lines."""
        new = dict(lines)
        if list(new) != list(self._shown):
            index, highlighted_id = self.highlighted, self.highlighted_id
            self._shown = new
            self.set_options([Option(line, id=key) for key, line in lines])
            if highlighted_id in new:
                index = list(new).index(highlighted_id)
            self.highlighted = min(index or 0, len(new) - 1) if new else None
            return
        for key, line in lines:
            if not line.is_same(self._shown[key]):
                self.replace_option_prompt(key, line)
        self._shown = new
