"""Help: every key of the view one comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import ActiveBinding, Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from clarinet_tui.ui.text.run_summary import said

GROUPS = {
    "history": "History",
    "launch": "Launch",
    "live": "Live",
    "compare": "Compare",
    "board": "Board",
    "cells": "In the board's tables",
    "queue": "Devices and queue",
    "act": "Runs",
    "form": "In choices",
    "settings": "In the settings",
    "runs": "In the table of runs",
    "filter": "In the filter line",
    "list": "In lists",
    "log": "In the log",
    "chart": "In charts",
    "focus": "Where the focus is",
    "app": "Everywhere",
}
"""The first part of a binding's id, and its heading."""
INHERITED = {
    "quit": ("app.quit", "Quit; runs go on"),
    "app.focus_next": ("app.next_pane", "Next pane"),
    "app.focus_previous": ("app.previous_pane", "Pane before"),
    "screen.copy_text": ("app.copy_text", "Copy the text that is marked with the mouse"),
}
"""What Textual binds without an id, by its action: an id, and a sentence."""
SIDEWAYS = frozenset({"page_left", "page_right"})
"""Nothing here is wider than a page."""


class HelpScreen(ModalScreen[None]):
    """A list of keys; any of `?`, esc and q closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,q", "dismiss", "Close", key_display="esc", id="help.close")
    ]

    def __init__(self, bindings: Iterable[Binding], problem: str = "") -> None:
        super().__init__()
        self._listed, self._problem = tuple(bindings), problem

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="help"):
            if self._problem:
                yield Static(said((self._problem, "bad")), markup=False, id="help-problem")
            yield Static(keys(self._listed, self.app.get_key_display), markup=False)

    def on_click(self) -> None:
        self.dismiss()


def keys(bindings: Iterable[Binding], display: Callable[[Binding], str]) -> Content:
    """The bindings under their headings, keys of one action together."""
    found: dict[str, dict[str, tuple[list[str], str]]] = {group: {} for group in GROUPS}
    for binding in bindings:
        name, sentence = _told(binding)
        group = name.partition(".")[0]
        if group not in found or not sentence or binding.action in SIDEWAYS:
            continue
        names, _ = found[group].setdefault(name, ([], sentence))
        for key in [binding.key_display] if binding.key_display else _keys(binding, display):
            if key not in names:
                names.append(key)
    lines = []
    for group, entries in found.items():
        if entries:
            lines += [said((GROUPS[group], "strong"))]
            lines += [
                said((f"  {' '.join(names):<16}", "live"), (sentence, "")) for names, sentence in entries.values()
            ]
            lines += [said()]
    return Content("\n").join(lines[:-1])


def _told(binding: Binding) -> tuple[str, str]:
    """Its id and its sentence."""
    if binding.id:
        return binding.id, binding.tooltip or binding.description
    return INHERITED.get(binding.action, (f"focus.{binding.action}", binding.description.capitalize()))


def _keys(binding: Binding, display: Callable[[Binding], str]) -> list[str]:
    """Several keys may be written in one binding."""
    return [display(replace(binding, key=key.strip())) for key in binding.key.split(",")]


def of_view(active: Iterable[ActiveBinding], others: Iterable[Binding]) -> list[Binding]:
    """What can be pressed now, and then the other keys of what is in the view."""
    now = [one.binding for one in active]
    known = {binding.id for binding in now}
    return [*now, *(binding for binding in others if binding.id not in known)]
