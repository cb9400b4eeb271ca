"""The filter line: a query, applied while it is typed, with what is wrong under the place where it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Input, Static

from clarinet_tui.ui.facts import said

if TYPE_CHECKING:
    from clarinet_tui.ui.snapshot import QueryProblem

PAUSE = 0.15
"""Seconds without a key after which the query is tried."""


class FilterLine(Vertical):
    """Hidden until it is needed; enter keeps the filter, esc takes it away."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "clear", "Clear filter", id="filter.clear"),
        Binding("down", "done", "To the runs", id="filter.done", show=False),
    ]

    @dataclass
    class FilterChanged(Message):
        """Another query is to be shown."""

        query: str

    @dataclass
    class FilterLeft(Message):
        """The user is done with typing."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._pause: Timer | None = None
        self._applied = ""
        self.display = False

    def compose(self) -> ComposeResult:
        with Horizontal(classes="line"):
            yield Static(" / ", classes="prompt", markup=False)
            yield Input(placeholder="method:clarinet task:U->M acc>80 state:finished tag:icml", compact=True)
            yield Static(classes="matches", markup=False)
        yield Static(classes="problem", markup=False)

    def on_mount(self) -> None:
        self.query_one(".problem").display = False
        self.query_one(Input).cursor_blink = self.app.animation_level != "none"

    def open(self) -> None:
        self.display = True
        self.query_one(Input).focus()

    def show(self, total: int, problem: QueryProblem | None) -> None:
        """How many runs match, or what is wrong and where."""
        matches = "" if problem else f" {total} {'match' if total != 1 else 'matches'} "
        self.query_one(".matches", Static).update(said((matches, "muted")))
        trouble = self.query_one(".problem", Static)
        trouble.display = problem is not None
        if problem:
            trouble.update(said((" " * (3 + problem.position) + "^ ", "bad"), (problem.message, "bad")))

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self._pause:
            self._pause.stop()
        self._pause = self.set_timer(PAUSE, self._apply)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_done()

    def action_done(self) -> None:
        self._apply()
        self.display = bool(self._applied)
        self.post_message(self.FilterLeft())

    def action_clear(self) -> None:
        self.query_one(Input).value = ""
        self.action_done()

    def _apply(self) -> None:
        query = self.query_one(Input).value.strip()
        if query != self._applied:
            self._applied = query
            self.post_message(self.FilterChanged(query))
