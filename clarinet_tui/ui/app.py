"""The terminal app: three views over one feed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.screen import Screen

from clarinet_tui.ui.feed import FPS, Feed
from clarinet_tui.ui.screens.history import HistoryScreen
from clarinet_tui.ui.screens.view import ViewScreen
from clarinet_tui.ui.session import Session
from clarinet_tui.ui.snapshot import Snapshot
from clarinet_tui.ui.widgets.top_bar import VIEWS


class ClarinetApp(App[None]):
    """Looks at a runs directory. It never changes a run, and closing it ends none."""

    TITLE = "clarinet"
    CSS_PATH = "clarinet.tcss"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(str(number), f"view('{view}')", title, id=f"app.{view}", show=False)
            for number, (view, title) in enumerate(VIEWS.items(), start=1)
        ),
        Binding("question_mark", "help", "Help", key_display="?", id="app.help"),
        Binding("q", "leave", "Quit", id="app.quit", tooltip="Quit; runs go on"),
        Binding("tab", "app.focus_next", "Next pane", id="app.next_pane", show=False),
        Binding("ctrl+p", "command_palette", "Palette", id="app.palette", show=False, tooltip="Find any action"),
    ]

    @dataclass
    class HistoryRead(Message):
        """The feed has seen something new."""

        snapshot: Snapshot

    def __init__(
        self,
        runs_dir: Path,
        *,
        runs: tuple[str, ...] = (),
        database: Path | None = None,
        fps: float = FPS,
        now: Callable[[], float] = time.time,
        glyphs: str = "",
    ) -> None:
        super().__init__()
        if fps < FPS:
            self.animation_level = "none"
        self.feed = Feed(runs_dir, self._hear, database=database, interval=1 / fps)
        self.session = Session(runs_dir, self.feed.want, now, glyphs)
        self.session.watched = runs[0] if runs else None
        self.session.compared = runs[:2] if len(runs) > 1 else ()
        self._first_view = ("history", "live", "compare")[min(len(runs), 2)]

    def on_mount(self) -> None:
        self.add_mode("history", lambda: HistoryScreen(self.session))
        self.add_mode("live", self._live)
        self.add_mode("compare", self._compare)
        self.switch_mode(self._first_view)
        self.call_after_refresh(self.feed.start)

    def _live(self) -> Screen[None]:
        from clarinet_tui.ui.screens.live import LiveScreen

        return LiveScreen(self.session)

    def _compare(self) -> Screen[None]:
        from clarinet_tui.ui.screens.compare import CompareScreen

        return CompareScreen(self.session)

    def on_unmount(self) -> None:
        self.feed.stop()

    def _hear(self, snapshot: Snapshot) -> None:
        """Called by the feed's thread."""
        self.post_message(self.HistoryRead(snapshot))

    def on_clarinet_app_history_read(self, event: HistoryRead) -> None:
        if not self.is_running:  # the screens are being taken down
            return
        previous = self.session.snapshot
        self.session.snapshot = event.snapshot
        if event.snapshot.problem and (previous is None or previous.problem != event.snapshot.problem):
            self.notify(event.snapshot.problem, title="History", severity="error", timeout=10, markup=False)
        for screen in self.screen_stack:
            if isinstance(screen, ViewScreen):
                screen.receive(event.snapshot)

    def action_view(self, view: str) -> None:
        if view != self.current_mode:
            self.switch_mode(view)

    def action_help(self) -> None:
        from clarinet_tui.ui.screens.help import HelpScreen, of_view
        from clarinet_tui.ui.widgets.chart import Chart

        problem = self.session.snapshot.problem if self.session.snapshot else ""
        self.push_screen(HelpScreen(of_view(self.screen.active_bindings.values(), Chart.BINDINGS), problem))

    def action_leave(self) -> None:
        """Quits without asking: runs live in processes of their own."""
        running = self.session.snapshot.listing.running if self.session.snapshot else 0
        goes_on = {0: "", 1: "1 run goes on; clarinet-tui shows it again."}
        self.exit(message=goes_on.get(running, f"{running} runs go on; clarinet-tui shows them again.") or None)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Every action of the view is in the palette."""
        yield from super().get_system_commands(screen)
        for active in screen.active_bindings.values():
            binding = active.binding
            if binding.id and binding.description and not binding.id.startswith("app.palette"):
                yield SystemCommand(
                    binding.description,
                    f"{binding.tooltip or binding.description} ({self.get_key_display(binding)})",
                    lambda active=active: self.call_later(self.run_action, active.binding.action, active.node),
                )
