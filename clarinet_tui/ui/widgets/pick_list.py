"""Lines of which one has the cursor; it stays with its line when others come and go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option


class PickList(OptionList):
    """Say `show` with names and lines; the keys are those of the table of runs."""

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
        """The name of the line under the cursor."""
        option = self.highlighted_option
        return option.id if option else None

    def show(self, lines: Sequence[tuple[str, Content]]) -> None:
        """Paints what has changed; other lines than before are all painted."""
        given = dict(lines)
        if list(given) != list(self._shown):
            place, name = self.highlighted, self.highlighted_id
            self._shown = given
            self.set_options([Option(line, id=key) for key, line in lines])
            names = list(given)
            self.highlighted = (
                names.index(name) if name in given else min(place or 0, len(names) - 1) if names else None
            )
            return
        for key, line in lines:
            if not line.is_same(self._shown[key]):
                self.replace_option_prompt(key, line)
        self._shown = given

    def highlight(self, name: str) -> None:
        if name in self._shown:
            self.highlighted = list(self._shown).index(name)
