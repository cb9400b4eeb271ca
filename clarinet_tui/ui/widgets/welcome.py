"""What one sees when there is no run yet: the first step."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Center, Middle
from textual.content import Content
from textual.widgets import Static

from clarinet_tui.ui.text.run_summary import said

FIRST_STEPS = (
    ("make demo", "a few small runs of the paper's methods, in a minute or two on a CPU"),
    ("clarinet run --headless --preset smoke", "one run, in seconds, nothing to download"),
)


class Welcome(Middle):
    """Friendly, short, and gone as soon as a run is there."""

    def __init__(self, place: str) -> None:
        super().__init__()
        self._place = place

    def compose(self) -> ComposeResult:
        lines = [said(("No runs yet", "strong")), said((f"in {self._place}", "muted")), said()]
        lines.append(said(("Press ", ""), ("n", "live"), (" to start one here.", "")))
        lines.append(said(("Or start one in another terminal, and it appears here by itself:", "")))
        for command, meaning in FIRST_STEPS:
            lines += [said(), said((command, "live")), said((meaning, "muted"))]
        with Center():
            yield Static(Content("\n").join(lines))
