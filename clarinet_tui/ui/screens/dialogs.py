"""Dialogs above a view: a yes-no question, a choice of names, or a line of text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Button, Input, SelectionList, Static

from clarinet_tui.ui.text.styled import styled

Answer = TypeVar("Answer")


class Dialog(ModalScreen[Answer]):
    """A title with details, and below it the widgets of the answer; the one with the id `answer` has the focus."""

    def __init__(self, title: str, details: str) -> None:
        super().__init__()
        self._title, self._details = title, details

    def compose(self) -> ComposeResult:
        with Vertical():
            title, details = styled((self._title, "strong")), styled((self._details, "muted"))
            yield Static(title + "\n" + details, markup=False)
            yield from self.compose_answer()

    def compose_answer(self) -> ComposeResult:
        raise NotImplementedError

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
        super().__init__(question, details)
        self._yes = yes

    def compose_answer(self) -> ComposeResult:
        with Horizontal():
            yield Button(f"{self._yes} (y)", variant="error", compact=True, action="screen.dismiss(True)")
            yield Button("No (n)", id="answer", compact=True, action="screen.dismiss(False)")


class ChoicesDialog(Dialog[tuple[str, ...] | None]):
    """A list of names, each chosen or not; None if cancelled."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "done", "Done", id="ask.done", priority=True),
        Binding("escape,q", "dismiss(None)", "Cancel", id="ask.cancel"),
        Binding("j", "cursor(1)", "Down", show=False),
        Binding("k", "cursor(-1)", "Up", show=False),
    ]

    def __init__(self, title: str, names: Sequence[str], chosen: Iterable[str]) -> None:
        super().__init__(title, "space chooses, enter closes")
        self._names, self._chosen = names, frozenset(chosen)

    def compose_answer(self) -> ComposeResult:
        names = ((name, name, name in self._chosen) for name in self._names)
        yield SelectionList[str](*names, compact=True, id="answer")

    def action_cursor(self, step: int) -> None:
        names: SelectionList[str] = self.query_one(SelectionList)
        (names.action_cursor_down if step > 0 else names.action_cursor_up)()

    def action_done(self) -> None:
        self.dismiss(tuple(self.query_one(SelectionList).selected))


class TextDialog(Dialog[str | None]):
    """A line of text; None if cancelled."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "Cancel", id="ask.cancel")]

    def __init__(self, title: str, details: str, text: str = "", placeholder: str = "") -> None:
        super().__init__(title, f"{details}\nenter saves, esc cancels")
        self._text, self._placeholder = text, placeholder

    def compose_answer(self) -> ComposeResult:
        field = Input(self._text, placeholder=self._placeholder, compact=True, id="answer")
        field.cursor_blink = self.app.animation_level != "none"
        yield field

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.dismiss(event.value)
