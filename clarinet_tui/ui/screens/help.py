"""Help: every key of the view below."""

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

from clarinet_tui.ui.text.styled import styled

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
    "focus": "In the focused widget",
    "app": "Everywhere",
}
"""Heading of each group of keys, by the first part of a binding's id."""
INHERITED = {
    "quit": ("app.quit", "Quit; runs continue"),
    "app.focus_next": ("app.next_pane", "Next pane"),
    "app.focus_previous": ("app.previous_pane", "Previous pane"),
    "screen.copy_text": ("app.copy_text", "Copy the text selected with the mouse"),
}
"""Id and description of Textual's own bindings, by action."""
HIDDEN_ACTIONS = frozenset({"page_left", "page_right"})
"""Actions without effect: nothing is wider than the screen."""


class HelpScreen(ModalScreen[None]):
    """A list of keys; `?`, esc and q close it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,q", "dismiss", "Close", key_display="esc", id="help.close")
    ]

    def __init__(self, bindings: Iterable[Binding], problem: str = "") -> None:
        super().__init__()
        self._listed, self._problem = tuple(bindings), problem

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="help"):
            if self._problem:
                yield Static(styled((self._problem, "bad")), markup=False, id="help-problem")
            yield Static(format_keys(self._listed, self.app.get_key_display), markup=False)

    def on_click(self) -> None:
        self.dismiss()


def format_keys(bindings: Iterable[Binding], display: Callable[[Binding], str]) -> Content:
    """List the bindings under their headings, with all keys of an action in one line."""
    groups: dict[str, dict[str, tuple[list[str], str]]] = {group: {} for group in GROUPS}
    for binding in bindings:
        name, description = _id_and_description(binding)
        group = name.partition(".")[0]
        if group not in groups or not description or binding.action in HIDDEN_ACTIONS:
            continue
        names, _ = groups[group].setdefault(name, ([], description))
        for key in [binding.key_display] if binding.key_display else _key_names(binding, display):
            if key not in names:
                names.append(key)
    lines = []
    for group, entries in groups.items():
        if entries:
            lines += [styled((GROUPS[group], "strong"))]
            lines += [
                styled((f"  {' '.join(names):<16}", "live"), (description, ""))
                for names, description in entries.values()
            ]
            lines += [styled()]
    return Content("\n").join(lines[:-1])


def _id_and_description(binding: Binding) -> tuple[str, str]:
    """Return the id and the description of a binding."""
    if binding.id:
        return binding.id, binding.tooltip or binding.description
    return INHERITED.get(binding.action, (f"focus.{binding.action}", binding.description.capitalize()))


def _key_names(binding: Binding, display: Callable[[Binding], str]) -> list[str]:
    """Return the names of a binding's keys."""
    return [display(replace(binding, key=key.strip())) for key in binding.key.split(",")]


def list_view_bindings(active: Iterable[ActiveBinding], others: Iterable[Binding]) -> list[Binding]:
    """Return the active bindings, then the other bindings of the view's widgets."""
    now = [one.binding for one in active]
    known = {binding.id for binding in now}
    return [*now, *(binding for binding in others if binding.id not in known)]
