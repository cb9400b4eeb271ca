"""The first row of every view: the views, the number of runs and the runs directory."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Static

from clarinet_tui.text import format_count
from clarinet_tui.ui.snapshot.snapshot import HistorySnapshot
from clarinet_tui.ui.text.styled import Span, styled
from clarinet_tui.ui.widgets.styled_text import StyledText

VIEWS = {name: name.capitalize() for name in ("history", "launch", "live", "compare", "board", "devices")}
"""The title of each view."""
VIEW_KEYS = {view: key for key, view in enumerate(VIEWS, 1)}
MAX_PATH = 24
"""Maximum length of the runs directory's path."""


class ViewTab(Static):
    """A view's name; a click switches to the view."""

    def __init__(self, view: str, *, active: bool) -> None:
        super().__init__(styled((f" {VIEW_KEYS[view]} ", "muted"), (f"{VIEWS[view]} ", "strong" if active else "")))
        self.view = view
        self.set_class(active, "-active")

    def on_click(self) -> None:
        self.app.switch_mode(self.view)


class TopBar(Horizontal):
    """Shows the views, and the counts of the newest snapshot."""

    def __init__(self, active: str, runs_dir: str) -> None:
        super().__init__()
        self._active = active
        self._runs_dir = runs_dir if len(runs_dir) <= MAX_PATH else f"…{runs_dir[1 - MAX_PATH :]}"
        self._shown: HistorySnapshot | None = None

    def compose(self) -> ComposeResult:
        yield Static(" clarinet ", classes="name", markup=False)
        for view in VIEWS:
            yield ViewTab(view, active=view == self._active)
        yield StyledText(classes="counts")

    def on_resize(self) -> None:
        if self._shown:
            self.call_after_refresh(self.show, self._shown)

    def show(self, snapshot: HistorySnapshot) -> None:
        self._shown = snapshot
        listing = snapshot.listing
        text = self.query_one(".counts", StyledText)
        width = self.size.width - text.region.x
        has_room = width >= 20
        counts = [(format_count(listing.all_runs, "run"), "muted"), (self._runs_dir, "muted")]
        if listing.running:
            counts.insert(0, (f"▸ {listing.running}" + (" running" if has_room else ""), "live"))
        if snapshot.problem:
            counts = [("! problem: press ?" if has_room else "! press ?", "bad")]
        spans: list[Span] = []
        for count, role in counts:  # as many as fit
            if spans and sum(len(before) for before, _ in spans) + len(count) + 4 > width:
                break
            spans += [*([(" · ", "faint")] if spans else []), (count, role)]
        text.set_content(styled(*spans, (" ", "")))
