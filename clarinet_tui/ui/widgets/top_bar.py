"""The first row of every view: where one is, where one can go, and how many runs there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Static

from clarinet_tui.ui.text.styled import Span, styled
from clarinet_tui.ui.widgets.styled_text import StyledText

if TYPE_CHECKING:
    from clarinet_tui.ui.snapshot.snapshot import Snapshot

VIEWS = {
    "history": "History",
    "launch": "Launch",
    "live": "Live",
    "compare": "Compare",
    "board": "Board",
    "devices": "Devices",
}
"""The views in their order."""
VIEW_KEYS = {"history": 1, "launch": 2, "live": 3, "compare": 4, "board": 5, "devices": 6}
"""The number keys: a view keeps its own, whichever others there are."""
FULL_LABELS = 20
"""Columns beside the views from which on there are words to the signs."""
MAX_PATH = 24
"""How much of the runs directory's path is shown."""


class ViewTab(Static):
    """A view's name; a click goes there."""

    def __init__(self, view: str, *, active: bool) -> None:
        super().__init__(styled((f" {VIEW_KEYS[view]} ", "muted"), (f"{VIEWS[view]} ", "strong" if active else "")))
        self.view = view
        self.set_class(active, "-active")

    def on_click(self) -> None:
        self.app.switch_mode(self.view)


class TopBar(Horizontal):
    """Name, views, and the state of the history."""

    def __init__(self, active: str, place: str) -> None:
        super().__init__()
        self._active, self._place = active, place if len(place) <= MAX_PATH else f"…{place[1 - MAX_PATH :]}"
        self._shown: Snapshot | None = None

    def compose(self) -> ComposeResult:
        yield Static(" clarinet ", classes="name", markup=False)
        for view in VIEWS:
            yield ViewTab(view, active=view == self._active)
        yield StyledText(classes="counts")

    def on_resize(self) -> None:
        if self._shown:
            self.call_after_refresh(self.show, self._shown)

    def show(self, snapshot: Snapshot) -> None:
        self._shown = snapshot
        listing = snapshot.listing
        runs = "1 run" if listing.all_runs == 1 else f"{listing.all_runs} runs"
        words = self.query_one(".counts", StyledText)
        room = self.size.width - words.region.x
        counts = [(runs, "muted"), (self._place, "muted")]
        if listing.running:
            counts.insert(0, (f"▸ {listing.running}" + (" running" if room >= FULL_LABELS else ""), "live"))
        if snapshot.problem:
            counts = [("! trouble: see ?" if room >= FULL_LABELS else "! see ?", "bad")]
        words.set_content(styled(*fit_counts(counts, room)))


def fit_counts(counts: list[Span], width: int) -> list[Span]:
    """As many of the counts as there is room for, with dots between them."""
    parts: list[Span] = []
    for text, role in counts:
        if sum(len(part) for part, _ in parts) + len(text) + 4 > width and parts:
            break
        parts += [*([(" · ", "faint")] if parts else []), (text, role)]
    return [*parts, (" ", "")]
