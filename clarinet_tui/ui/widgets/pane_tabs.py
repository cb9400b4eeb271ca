"""A row of names, one of which is active: a click or a key chooses another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from textual import events
from textual.message import Message
from textual.reactive import reactive

from clarinet_tui.ui.text.run_summary import said
from clarinet_tui.ui.widgets.text_line import Words


class PaneTabs(Words):
    """Give it panes and their titles, and set `active`."""

    DEFAULT_CSS = "PaneTabs { height: 1; }"

    @dataclass
    class PaneChosen(Message):
        """Another pane was clicked."""

        pane: str

    active: reactive[str] = reactive("")

    def __init__(self, panes: Mapping[str, str], active: str) -> None:
        super().__init__()
        self._panes = panes
        self.active = active

    def watch_active(self, active: str) -> None:
        role = {True: "bold underline $text-accent", False: "muted"}
        parts = [[(" ", ""), (title, role[pane == active]), (" ", "")] for pane, title in self._panes.items()]
        self.say(said(*(piece for part in parts for piece in part)))

    def on_click(self, event: events.Click) -> None:
        end = 0
        for pane, title in self._panes.items():
            end += len(title) + 2
            if event.x < end:
                self.post_message(self.PaneChosen(pane))
                return
