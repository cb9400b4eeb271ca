"""Dialogs above a view: a yes-no question, a choice of names, or a line of text."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import ClassVar, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Button, Input, SelectionList, Static

from clarinet_tui.ui.text.styled import styled

Answer = TypeVar("Answer")


class Dialog(ModalScreen[Answer]):
    """A title with details, and below it the widgets of the answer; the one with the id `answer` has the focus."""

    def __init__(self, title: str, details: str, answer: Widget) -> None:
        super().__init__()
        self._heading, self._answer = styled((title, "strong")) + "\n" + styled((details, "muted")), answer

    def compose(self) -> ComposeResult:
        yield Vertical(Static(self._heading, markup=False), self._answer)

    def on_mount(self) -> None:
        self.query_one("#answer").focus()


class ConfirmDialog(Dialog[bool]):
    """A question with the answers yes and no; no has the focus."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "dismiss(True)", "Yes", id="ask.yes"),
        Binding("n,escape,q", "dismiss(False)", "No", key_display="n", id="ask.no"),
        Binding("left,right,h,l", "app.focus_next", "Other answer", show=False),
    ]

    def __init__(self, question: str, yes: str, details: str) -> None:
        confirm = Button(f"{yes} (y)", variant="error", compact=True, action="screen.dismiss(True)")
        refuse = Button("No (n)", id="answer", compact=True, action="screen.dismiss(False)")
        super().__init__(question, details, Horizontal(confirm, refuse))


class ChoicesDialog(Dialog[tuple[str, ...] | None]):
    """A list of names, each chosen or not; None if cancelled."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "done", "Done", id="ask.done", priority=True),
        Binding("escape,q", "dismiss(None)", "Cancel", id="ask.cancel"),
        Binding("j", "cursor(1)", "Down", show=False),
        Binding("k", "cursor(-1)", "Up", show=False),
    ]

    def __init__(self, title: str, names: Iterable[str], chosen: Container[str]) -> None:
        choices = [(name, name, name in chosen) for name in names]
        self._list = SelectionList[str](*choices, compact=True, id="answer")
        super().__init__(title, "space chooses, enter closes", self._list)

    def action_cursor(self, step: int) -> None:
        (self._list.action_cursor_down if step > 0 else self._list.action_cursor_up)()

    def action_done(self) -> None:
        self.dismiss(tuple(self._list.selected))


class TextDialog(Dialog[str | None]):
    """A line of text; None if cancelled."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "Cancel", id="ask.cancel")]

    def __init__(self, title: str, details: str, text: str = "", placeholder: str = "") -> None:
        field = Input(text, placeholder=placeholder, compact=True, id="answer")
        super().__init__(title, f"{details}\nenter saves, esc cancels", field)
        field.cursor_blink = self.app.animation_level != "none"

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.dismiss(event.value)
