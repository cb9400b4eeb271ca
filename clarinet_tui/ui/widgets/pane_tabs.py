"""A row of names, one of which is active: a click or a key chooses another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import Static


class PaneTab(Static):
    """One name."""

    def __init__(self, pane: str, title: str) -> None:
        super().__init__(f" {title} ", markup=False)
        self.pane = pane

    def on_click(self) -> None:
        self.post_message(PaneTabs.PaneChosen(self.pane))


class PaneTabs(Horizontal):
    """Give it panes and their titles, and set `active`."""

    DEFAULT_CSS = """
    PaneTabs { height: 1; }
    PaneTab { width: auto; color: $foreground-muted; }
    PaneTab:hover { background: $foreground 10%; }
    PaneTab.-active { color: $text-accent; text-style: bold underline; }
    """

    @dataclass
    class PaneChosen(Message):
        """Another pane was clicked."""

        pane: str

    active: reactive[str] = reactive("")

    def __init__(self, panes: Mapping[str, str], active: str) -> None:
        super().__init__()
        self._panes = panes
        self.set_reactive(PaneTabs.active, active)

    def compose(self) -> ComposeResult:
        for pane, title in self._panes.items():
            tab = PaneTab(pane, title)
            tab.set_class(pane == self.active, "-active")
            yield tab

    def watch_active(self, active: str) -> None:
        for tab in self.query(PaneTab):
            tab.set_class(tab.pane == active, "-active")
