"""The first steps, shown instead of an empty history."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Center, Middle
from textual.widgets import Static

from clarinet_tui.ui.text.first_steps import format_welcome


class Welcome(Middle):
    """Shown instead of the table until there is a run."""

    def __init__(self, runs_dir: str) -> None:
        super().__init__()
        self._runs_dir = runs_dir

    def compose(self) -> ComposeResult:
        with Center():
            yield Static(format_welcome(self._runs_dir), markup=False)
