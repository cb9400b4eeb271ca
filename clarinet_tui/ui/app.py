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
from clarinet_tui.ui.app_state import Session
from clarinet_tui.ui.error_guard import Guarded, TroubleBook, log_place
from clarinet_tui.ui.feed.history_feed import FPS, Feed, sentence
from clarinet_tui.ui.feed.machine_feed import MachineFeed
from clarinet_tui.ui.preferences import Keeper, place
from clarinet_tui.ui.screens.history import HistoryScreen
from clarinet_tui.ui.screens.machine_screen import MachineScreen
from clarinet_tui.ui.screens.view_screen import ViewScreen
from clarinet_tui.ui.snapshot.snapshot import Snapshot
from clarinet_tui.ui.text.plain_glyphs import PlainSigns, needed
from clarinet_tui.ui.themes import CONTRAST, DARK, THEMES
from clarinet_tui.ui.widgets.top_bar import NUMBERS, VIEWS

if TYPE_CHECKING:
    from clarinet_tui.ui.snapshot.machine import Machine

LATER = 1.0
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
    class MachineSeen(Message):
        """Devices, queue or data are not as they were."""

        machine: Machine

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
        careful: bool = False,
        painted: Callable[[], object] = lambda: None,
    ) -> None:
        """`painted` is called once, after the first paint."""
        # Textual makes the screen of this mode first: no other one has to be made and left before it.
        self.DEFAULT_MODE = "live" if runs else "history"  # type: ignore[misc]
        super().__init__()
        self._painted = painted
        self.careful, self._troubles = careful, TroubleBook(log_place())
        if fps < FPS:
            self.animation_level = "none"
        self.keeper = Keeper(preferences or place(), self._complain)
        left = self.keeper.preferences
        for theme in THEMES:
            self.register_theme(theme)
        # Without its watchers: styles are not there yet, and would be made twice.
        self.set_reactive(App.theme, left.theme if left.theme in self.available_themes else DARK)
        self.stylesheet.set_variables(self.get_css_variables())
        self._signs = PlainSigns(enabled=needed(os.environ))
        self.feed = Feed(runs_dir, self._hear, database=database, interval=1 / fps)
        self.session = Session(runs_dir, self.feed.want, now, glyphs, left, data_dir=data_dir, database=database)
        self.session.remember = self.keeper.remember
        self.machine_feed = MachineFeed(runs_dir, data_dir, self._perceive, database=database)
        self.session.watch, self.session.look_again = self.machine_feed.want, self.machine_feed.again
        self.session.watched = runs[0] if runs else None
        self.session.overlaid = runs if len(runs) > 1 else ()
        self.add_mode("history", lambda: HistoryScreen(self.session))
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
        if self.keeper.problem:
            self._complain(self.keeper.problem)
        self.call_after_refresh(self._begin)
        self.set_timer(LATER, self._look_after_the_queue)

    def _begin(self) -> None:
        """What the first paint did not need."""
        self._painted()
        self.feed.start()

    def _look_after_the_queue(self) -> None:
        self.run_worker(self._feed_the_queue, thread=True, exit_on_error=False)

    def _feed_the_queue(self) -> None:
        """A queue whose supervisor was killed goes on when somebody looks."""
        from clarinet_tui.queue.requests import ensure_supervisor_if_needed
        from core.errors import InputError

        try:
            ensure_supervisor_if_needed(self.session.runs_dir)
        except (InputError, OSError) as error:
            self.call_from_thread(self.notify, sentence(error), title="Queue", severity="error", markup=False)

    def _launch(self) -> Screen[None]:
        from clarinet_tui.ui.screens.launch import LaunchScreen

        return LaunchScreen(self.session)

    def _devices(self) -> Screen[None]:
        from clarinet_tui.ui.screens.devices import DevicesScreen

        return DevicesScreen(self.session)

    def _live(self) -> Screen[None]:
        from clarinet_tui.ui.screens.live import LiveScreen

        return LiveScreen(self.session)

    def _compare(self) -> Screen[None]:
        from clarinet_tui.ui.screens.compare import CompareScreen

        return CompareScreen(self.session)

    def _board(self) -> Screen[None]:
        from clarinet_tui.ui.screens.board import BoardScreen

        return BoardScreen(self.session)

    def on_unmount(self) -> None:
        self.machine_feed.stop()
        self.feed.stop()
        self.keeper.close()

    def _complain(self, sentence: str) -> None:
        """Nothing is lost but comfort. May be called by any thread."""
        self.call_later(self.notify, sentence, title="Layout", severity="warning", timeout=8, markup=False)

    def get_line_filters(self) -> Sequence[LineFilter]:
        return [*super().get_line_filters(), *([self._signs] if self._signs.enabled else [])]

    def watch_theme(self, theme: str) -> None:
        self.set_class(theme == CONTRAST, "-contrast")
        self.keeper.remember(theme=theme)

    def action_use_theme(self, theme: str) -> None:
        self.theme = theme

    def action_use_glyphs(self, glyphs: str) -> None:
        """How charts are drawn: for terminals that have no Braille."""
        self.session.glyphs = glyphs
        self.keeper.remember(glyphs=glyphs)
        if isinstance(self.screen, ViewScreen):
            self.screen.use_glyphs()

    def _perceive(self, machine: Machine) -> None:
        """Called by the machine feed's thread."""
        self.post_message(self.MachineSeen(machine))

    def on_clarinet_app_machine_seen(self, event: MachineSeen) -> None:
        if not self.is_running:
            return
        self.session.machine = event.machine
        for screen in self.screen_stack:
            if isinstance(screen, MachineScreen):
                with self._guarding(screen.NAME):
                    screen.perceive(event.machine)

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
                with self._guarding(screen.NAME):
                    screen.receive(event.snapshot)

    @contextmanager
    def _guarding(self, where: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            if not self.careful:
                raise
            self.report(error, where)

    def report(self, error: Exception, where: str) -> None:
        """An exception in a view: the user reads a sentence, and goes on."""
        sentence = self._troubles.write(error, where)
        if sentence:
            self.notify(printable(sentence), title="Trouble", severity="error", timeout=15, markup=False)

    async def run_action(
        self,
        action: str | ActionParseResult,
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        with self._guarding(str(action)):
            return await super().run_action(action, default_namespace, namespaces)
        return True

    def _handle_exception(self, error: Exception) -> None:
        """What a guarded view calls later fails outside of its handlers; it goes on after that, too."""
        if self.careful and isinstance(active_message_pump.get(None), Guarded):
            self.report(error, "a view")
        else:
            super()._handle_exception(error)

    def action_view(self, view: str) -> None:
        if view != self.current_mode:
            self.switch_mode(view)

    def action_help(self) -> None:
        from clarinet_tui.ui.palette_commands import keys_of
        from clarinet_tui.ui.screens.help import HelpScreen, of_view

        problem = self.session.snapshot.problem if self.session.snapshot else ""
        self.push_screen(HelpScreen(of_view(self.screen.active_bindings.values(), keys_of(self.screen)), problem))

    async def action_quit(self) -> None:
        self.action_leave()

    def action_leave(self) -> None:
        """Quits without asking: runs live in processes of their own."""
        running = self.session.snapshot.listing.running if self.session.snapshot else 0
        goes_on = {0: "", 1: "1 run goes on; clarinet-tui shows it again."}
        self.exit(message=goes_on.get(running, f"{running} runs go on; clarinet-tui shows them again.") or None)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Every action of the view is in the palette."""
        from clarinet_tui.ui.palette_commands import commands

        yield from super().get_system_commands(screen)
        yield from commands(self, screen)
