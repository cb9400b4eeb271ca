"""The terminal app: its views, over two feeds: one of the history, one of the machine."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual._context import active_message_pump
from textual.actions import ActionParseResult
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.dom import DOMNode
from textual.filter import LineFilter
from textual.message import Message
from textual.screen import Screen

from clarinet_tui.text import printable
from clarinet_tui.ui.app_state import AppState
from clarinet_tui.ui.error_guard import GuardedHandlers, ErrorLog, error_log_path
from clarinet_tui.ui.feed.history_feed import FPS, HistoryFeed
from clarinet_tui.ui.feed.machine_feed import MachineFeed
from clarinet_tui.ui.preferences import PreferenceStore, preferences_path
from clarinet_tui.ui.screens.history import HistoryScreen
from clarinet_tui.ui.screens.machine_screen import MachineScreen
from clarinet_tui.ui.screens.view_screen import ViewScreen
from clarinet_tui.ui.snapshot.snapshot import Snapshot
from clarinet_tui.ui.text.plain_glyphs import PlainGlyphs, needs_plain_glyphs
from clarinet_tui.ui.themes import CONTRAST, DARK, THEMES
from clarinet_tui.ui.widgets.top_bar import NUMBERS, VIEWS

if TYPE_CHECKING:
    from clarinet_tui.ui.snapshot.machine import MachineSnapshot

IDLE_SECONDS = 1.0
"""Seconds after which there is time for what the first paint does not need."""


class ClarinetApp(App[None]):
    """Looks at a runs directory, and asks of its runs what the user asks for. Closing it ends none of them."""

    TITLE = "clarinet"
    CSS_PATH = "clarinet.tcss"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(str(NUMBERS[view]), f"view('{view}')", title, id=f"app.{view}", show=False)
            for view, title in VIEWS.items()
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

    @dataclass
    class MachineRead(Message):
        """Devices, queue or data are not as they were."""

        machine: MachineSnapshot

    def __init__(
        self,
        runs_dir: Path,
        *,
        runs: tuple[str, ...] = (),
        database: Path | None = None,
        data_dir: Path = Path("data"),
        fps: float = FPS,
        now: Callable[[], float] = time.time,
        glyphs: str = "",
        preferences: Path | None = None,
        catches_errors: bool = False,
        on_first_paint: Callable[[], object] = lambda: None,
    ) -> None:
        """`painted` is called once, after the first paint."""
        # Textual makes the screen of this mode first: no other one has to be made and left before it.
        self.DEFAULT_MODE = "live" if runs else "history"  # type: ignore[misc]
        super().__init__()
        self._painted = on_first_paint
        self.catches_errors, self._error_log = catches_errors, ErrorLog(error_log_path())
        if fps < FPS:
            self.animation_level = "none"
        self.preferences = PreferenceStore(preferences or preferences_path(), self._warn)
        left = self.preferences.preferences
        for theme in THEMES:
            self.register_theme(theme)
        # Without its watchers: styles are not there yet, and would be made twice.
        self.set_reactive(App.theme, left.theme if left.theme in self.available_themes else DARK)
        self.stylesheet.set_variables(self.get_css_variables())
        self._signs = PlainGlyphs(enabled=needs_plain_glyphs(os.environ))
        self.history_feed = HistoryFeed(runs_dir, self._post_snapshot, database=database, interval=1 / fps)
        self.state = AppState(runs_dir, self.history_feed.request, now, glyphs, left, data_dir=data_dir, database=database)
        self.state.save_preferences = self.preferences.save
        self.machine_feed = MachineFeed(runs_dir, data_dir, self._post_machine, database=database)
        self.state.poll_machine, self.state.refresh_machine = self.machine_feed.poll, self.machine_feed.refresh
        self.state.live_run = runs[0] if runs else None
        self.state.overlaid_runs = runs if len(runs) > 1 else ()
        self.add_mode("history", lambda: HistoryScreen(self.state))
        self.add_mode("launch", self._launch)
        self.add_mode("live", self._live)
        self.add_mode("compare", self._compare)
        self.add_mode("board", self._board)
        self.add_mode("devices", self._devices)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """For themes of the terminal's own colours, which have no shades."""
        return {"foreground-disabled": "ansi_default 50%"}

    def on_mount(self) -> None:
        self.set_class(self.console.color_system in (None, "standard"), "-few-colours")
        if self.preferences.problem:
            self._warn(self.preferences.problem)
        self.call_after_refresh(self._start_feed)
        self.set_timer(IDLE_SECONDS, self._look_after_the_queue)

    def _start_feed(self) -> None:
        """What the first paint did not need."""
        self._painted()
        self.history_feed.start()

    def _look_after_the_queue(self) -> None:
        self.run_worker(self._feed_the_queue, thread=True, exit_on_error=False)

    def _feed_the_queue(self) -> None:
        """A queue whose supervisor was killed goes on when somebody looks."""
        from clarinet_tui.queue.requests import ensure_supervisor_if_needed
        from core.errors import InputError, describe_error

        try:
            ensure_supervisor_if_needed(self.state.runs_dir)
        except (InputError, OSError) as error:
            self.call_from_thread(self.notify, describe_error(error), title="Queue", severity="error", markup=False)

    def _launch(self) -> Screen[None]:
        from clarinet_tui.ui.screens.launch import LaunchScreen

        return LaunchScreen(self.state)

    def _devices(self) -> Screen[None]:
        from clarinet_tui.ui.screens.devices import DevicesScreen

        return DevicesScreen(self.state)

    def _live(self) -> Screen[None]:
        from clarinet_tui.ui.screens.live import LiveScreen

        return LiveScreen(self.state)

    def _compare(self) -> Screen[None]:
        from clarinet_tui.ui.screens.compare import CompareScreen

        return CompareScreen(self.state)

    def _board(self) -> Screen[None]:
        from clarinet_tui.ui.screens.board import BoardScreen

        return BoardScreen(self.state)

    def on_unmount(self) -> None:
        self.machine_feed.stop()
        self.history_feed.stop()
        self.preferences.close()

    def _warn(self, sentence: str) -> None:
        """Nothing is lost but comfort. May be called by any thread."""
        self.call_later(self.notify, sentence, title="Layout", severity="warning", timeout=8, markup=False)

    def get_line_filters(self) -> Sequence[LineFilter]:
        return [*super().get_line_filters(), *([self._signs] if self._signs.enabled else [])]

    def watch_theme(self, theme: str) -> None:
        self.set_class(theme == CONTRAST, "-contrast")
        self.preferences.save(theme=theme)

    def action_use_theme(self, theme: str) -> None:
        self.theme = theme

    def action_use_glyphs(self, glyphs: str) -> None:
        """How charts are drawn: for terminals that have no Braille."""
        self.state.glyphs = glyphs
        self.preferences.save(glyphs=glyphs)
        if isinstance(self.screen, ViewScreen):
            self.screen.use_glyphs()

    def _post_machine(self, machine: MachineSnapshot) -> None:
        """Called by the machine feed's thread."""
        self.post_message(self.MachineRead(machine))

    def on_clarinet_app_machine_read(self, event: MachineRead) -> None:
        if not self.is_running:
            return
        self.state.machine = event.machine
        for screen in self.screen_stack:
            if isinstance(screen, MachineScreen):
                with self._guard(screen.NAME):
                    screen.receive_machine(event.machine)

    def _post_snapshot(self, snapshot: Snapshot) -> None:
        """Called by the feed's thread."""
        self.post_message(self.HistoryRead(snapshot))

    def on_clarinet_app_history_read(self, event: HistoryRead) -> None:
        if not self.is_running:  # the screens are being taken down
            return
        previous = self.state.snapshot
        self.state.snapshot = event.snapshot
        if event.snapshot.problem and (previous is None or previous.problem != event.snapshot.problem):
            self.notify(event.snapshot.problem, title="History", severity="error", timeout=10, markup=False)
        for screen in self.screen_stack:
            if isinstance(screen, ViewScreen):
                with self._guard(screen.NAME):
                    screen.receive(event.snapshot)

    @contextmanager
    def _guard(self, where: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            if not self.catches_errors:
                raise
            self.report_error(error, where)

    def report_error(self, error: Exception, where: str) -> None:
        """An exception in a view: the user reads a sentence, and goes on."""
        sentence = self._error_log.write(error, where)
        if sentence:
            self.notify(printable(sentence), title="Trouble", severity="error", timeout=15, markup=False)

    async def run_action(
        self,
        action: str | ActionParseResult,
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        with self._guard(str(action)):
            return await super().run_action(action, default_namespace, namespaces)
        return True

    def _handle_exception(self, error: Exception) -> None:
        """What a guarded view calls later fails outside of its handlers; it goes on after that, too."""
        if self.catches_errors and isinstance(active_message_pump.get(None), GuardedHandlers):
            self.report_error(error, "a view")
        else:
            super()._handle_exception(error)

    def action_view(self, view: str) -> None:
        if view != self.current_mode:
            self.switch_mode(view)

    def action_help(self) -> None:
        from clarinet_tui.ui.palette_commands import list_bindings
        from clarinet_tui.ui.screens.help import HelpScreen, list_view_bindings

        problem = self.state.snapshot.problem if self.state.snapshot else ""
        self.push_screen(HelpScreen(list_view_bindings(self.screen.active_bindings.values(), list_bindings(self.screen)), problem))

    async def action_quit(self) -> None:
        self.action_leave()

    def action_leave(self) -> None:
        """Quits without asking: runs live in processes of their own."""
        running = self.state.snapshot.listing.running if self.state.snapshot else 0
        goes_on = {0: "", 1: "1 run goes on; clarinet-tui shows it again."}
        self.exit(message=goes_on.get(running, f"{running} runs go on; clarinet-tui shows them again.") or None)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Every action of the view is in the palette."""
        from clarinet_tui.ui.palette_commands import list_commands

        yield from super().get_system_commands(screen)
        yield from list_commands(self, screen)
