"""Dialogs above a view: a yes-no question, a choice of names, or a line of text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Button, Input, SelectionList, Static

from clarinet_tui.ui.text.styled import styled

SAVES = "enter saves, esc cancels"


class ConfirmDialog(ModalScreen[bool]):
    """A question with the answers yes and no; no has the focus."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "Yes", id="ask.yes"),
        Binding("n,escape,q", "answer(False)", "No", key_display="n", id="ask.no"),
        Binding("left,right,h,l", "app.focus_next", "Other answer", show=False),
    ]

    def __init__(self, question: str, yes: str, details: str) -> None:
        super().__init__()
        self._question, self._yes, self._details = question, yes, details

    def compose(self) -> ComposeResult:
        question, details = styled((self._question, "strong")), styled((self._details, "muted"))
        with Vertical():
            yield Static(question + "\n" + details, markup=False)
            with Horizontal():
                yield Button(f"{self._yes} (y)", id="yes", variant="error", compact=True)
                yield Button("No (n)", id="no", compact=True)

    def on_mount(self) -> None:
        self.query_one("#no").focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "yes")

    def action_answer(self, yes: bool) -> None:
        self.dismiss(yes)


class ChoicesDialog(ModalScreen[tuple[str, ...] | None]):
    """A list of names, each chosen or not; None if cancelled."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "done", "Done", id="ask.done", priority=True),
        Binding("escape,q", "dismiss(None)", "Cancel", id="ask.cancel"),
        Binding("j", "cursor(1)", "Down", show=False),
        Binding("k", "cursor(-1)", "Up", show=False),
    ]

    def __init__(self, title: str, names: Sequence[str], chosen: Iterable[str]) -> None:
        super().__init__()
        self._title, self._names, self._chosen = title, names, frozenset(chosen)

    def compose(self) -> ComposeResult:
        with Vertical():
            title, details = styled((self._title, "strong")), styled(("space chooses, enter closes", "muted"))
            yield Static(title + "\n" + details, markup=False)
            yield SelectionList[str](*((name, name, name in self._chosen) for name in self._names), compact=True)

    def on_mount(self) -> None:
        self.query_one(SelectionList).focus()

    def action_cursor(self, step: int) -> None:
        names: SelectionList[str] = self.query_one(SelectionList)
        (names.action_cursor_down if step > 0 else names.action_cursor_up)()

    def action_done(self) -> None:
        self.dismiss(tuple(self.query_one(SelectionList).selected))


class TextDialog(ModalScreen[str | None]):
    """A line of text; None if cancelled."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "Cancel", id="ask.cancel")]

    def __init__(self, title: str, details: str, text: str = "", placeholder: str = "") -> None:
        super().__init__()
        self._title, self._details, self._text, self._placeholder = title, details, text, placeholder

    def compose(self) -> ComposeResult:
        with Vertical():
            title, details = styled((self._title, "strong")), styled((f"{self._details}\n{SAVES}", "muted"))
            yield Static(title + "\n" + details, markup=False)
            yield Input(self._text, placeholder=self._placeholder, compact=True)

    def on_mount(self) -> None:
        field = self.query_one(Input)
        field.cursor_blink = self.app.animation_level != "none"
        field.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.dismiss(event.value)
