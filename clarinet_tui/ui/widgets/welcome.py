"""The first steps, shown instead of an empty history."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Center, Middle
from textual.content import Content
from textual.widgets import Static

from clarinet_tui.ui.text.styled import styled

FIRST_STEPS = (
    ("clarinet demo", "a few small runs of the paper's methods, about two minutes on a CPU"),
    ("clarinet run --headless --preset smoke", "one run in seconds, without any download"),
)


class Welcome(Middle):
    """Shown instead of the table until there is a run."""

    def __init__(self, runs_dir: str) -> None:
        super().__init__()
        self._runs_dir = runs_dir

    def compose(self) -> ComposeResult:
        lines = [styled(("No runs yet", "strong")), styled((f"in {self._runs_dir}", "muted")), styled()]
        lines.append(styled(("Press ", ""), ("n", "live"), (" to start one here.", "")))
        lines.append(styled(("Or start one in another terminal; it appears here:", "")))
        for command, description in FIRST_STEPS:
            lines += [styled(), styled((command, "live")), styled((description, "muted"))]
        with Center():
            yield Static(Content("\n").join(lines))
