"""The terminal app: its views, and the two feeds that read the history and the machine for them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.actions import ActionParseResult
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.dom import DOMNode
from textual.filter import LineFilter
from textual.screen import Screen

from clarinet_tui.analysis.choices import COMPARED_FAMILIES
from clarinet_tui.text import printable
from clarinet_tui.ui.app_state import AppState
from clarinet_tui.ui.error_guard import ErrorLog, error_log_path
from clarinet_tui.ui.feed.history_feed import FPS, REPORT_SECONDS, HistoryFeed
from clarinet_tui.ui.feed.machine_feed import MachineFeed
from clarinet_tui.ui.ordered_input import OrderedInput
from clarinet_tui.ui.preferences import PreferenceStore, preferences_path
from clarinet_tui.ui.screens.view_screen import ViewScreen
from clarinet_tui.ui.snapshot.snapshot import HistorySnapshot
from clarinet_tui.ui.textual_private import GuardedApp
from clarinet_tui.ui.themes import CONTRAST, DARK, LIGHT, THEMES, PlainGlyphs, needs_plain_glyphs
from clarinet_tui.ui.widgets.top_bar import VIEW_KEYS, VIEWS

if TYPE_CHECKING:
    from textual.command import Provider
    from textual.notifications import SeverityLevel

    from clarinet_tui.ui.snapshot.machine import MachineSnapshot
    from clarinet_tui.ui.snapshot.snapshot import InspectionProgress


MAX_DELAY = 0.5
"""Seconds for which keys may delay a snapshot: a key that is held down must not stop all updates."""
IDLE_SECONDS = 1.0
"""Delay of work that the first paint does not need."""


def _ranked_commands() -> type[Provider]:
    """Import the palette when it is first opened."""
    from clarinet_tui.ui.screens.help import RankedCommands

    return RankedCommands


def import_compare() -> None:
    """Import ahead of time what the Compare view needs; scipy is the slowest."""
    import scipy.special  # noqa: F401

    import clarinet_tui.analysis.comparison
    import clarinet_tui.analysis.seed_curves
    import clarinet_tui.ui.screens.compare  # noqa: F401


class ClarinetApp(OrderedInput, GuardedApp):
    """Shows a runs directory and acts on its runs; closing it does not stop them."""

    TITLE = "clarinet"
    CSS_PATH = "clarinet.tcss"
    COMMANDS = {_ranked_commands}  # noqa: RUF012  Textual's own declaration
    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(str(VIEW_KEYS[view]), f"view('{view}')", title, id=f"app.{view}", show=False)
            for view, title in VIEWS.items()
        ),
        Binding("question_mark", "help", "Help", key_display="?", id="app.help"),
        Binding("q", "quit", "Quit", id="app.quit", tooltip="Quit; runs continue"),
        Binding("tab", "app.focus_next", "Next pane", id="app.next_pane", show=False),
        Binding("ctrl+p", "command_palette", "Palette", id="app.palette", show=False, tooltip="Search all commands"),
    ]

    def __init__(
        self,
        runs_dir: Path,
        *,
        runs: tuple[str, ...] = (),
        database: Path | None = None,
        data_dir: Path = Path("data"),
        fps: float = FPS,
        now: Callable[[], float] = time.time,
        preferences: Path | None = None,
        catches_errors: bool = False,
        on_first_paint: Callable[[], object] = lambda: None,
    ) -> None:
        """`on_first_paint` is called once, after the first paint."""
        self.DEFAULT_MODE = "live" if runs else "history"  # type: ignore[misc]  # Textual creates this screen first
        super().__init__()
        self._on_first_paint = on_first_paint
        self._shown_at = float("-inf")
        self._newest_snapshot: HistorySnapshot | None = None
        self._families: set[str] = set()
        """Families of all runs listed so far."""
        self.catches_errors, self._error_log = catches_errors, ErrorLog(error_log_path())
        if fps < FPS:
            self.animation_level = "none"
        self.preferences = PreferenceStore(preferences or preferences_path(), self._warn)
        for own_theme in THEMES:
            self.register_theme(own_theme)
        theme = self.preferences.values.theme if self.preferences.values.theme in self.available_themes else DARK
        self.set_reactive(App.theme, theme)  # without watchers, which would compute all styles twice
        self._set_theme_classes()
        self.stylesheet.set_variables(self.get_css_variables())
        self._has_plain_glyphs = needs_plain_glyphs(os.environ)
        log = self._error_log.write
        self.state = AppState(
            runs_dir,
            data_dir,
            database,
            HistoryFeed(
                runs_dir,
                self._receive_history,
                log,
                lambda message: self.call_later(self.notify, message, title="History", timeout=REPORT_SECONDS),
                database=database,
                interval=1 / fps,
            ),
            MachineFeed(
                runs_dir, data_dir, lambda machine: self.call_later(self._show_machine, machine), log, database=database
            ),
            lambda progress: self.call_later(self._show_inspection, progress),
            self.preferences,
            now,
        )
        self.state.live_run, self.state.overlaid_runs = next(iter(runs), None), runs if len(runs) > 1 else ()
        for view in (*VIEWS, "sweep"):
            self.add_mode(view, partial(self._make_screen, view))

    def _make_screen(self, view: str) -> Screen[None]:
        """Import a view when it is first opened: `screens/board.py` has `BoardScreen`."""
        module = import_module(f"clarinet_tui.ui.screens.{view}")
        screen: Screen[None] = getattr(module, f"{view.capitalize()}Screen")(self.state)
        return screen

    def _set_theme_classes(self) -> None:
        """Mark the themes that have rules of their own in the style sheet."""
        for theme, name in ((CONTRAST, "-contrast"), (LIGHT, "-light")):
            self.set_class(self.theme == theme, name, update=self.is_running)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Return variables for themes in the terminal's own colours, which have no shades."""
        return {"foreground-disabled": "ansi_default 50%"}

    def on_mount(self) -> None:
        self.set_class(self.console.color_system in (None, "standard"), "-few-colours")
        if self.preferences.problem:
            self._warn(self.preferences.problem)
        self.call_after_refresh(self._start_feed)
        self.set_timer(IDLE_SECONDS, self._ensure_supervisor)

    def _start_feed(self) -> None:
        self._on_first_paint()
        self.state.history_feed.start()
        self.state.machine_feed.start()

    def _ensure_supervisor(self) -> None:
        for screen in self.screen_stack if self.is_running else ():
            if isinstance(screen, ViewScreen):
                screen.ensure_supervisor()

    def on_unmount(self) -> None:
        if "inspection_feed" in vars(self.state):
            self.state.inspection_feed.stop()
        self.state.machine_feed.stop()
        self.state.history_feed.stop()
        self.preferences.close()

    def _warn(self, message: str, error: Exception | None = None) -> None:
        """Show a problem with the preferences; called by any thread."""
        if error:
            self._error_log.write(error, "preferences")
        self.call_later(self.notify, message, title="Preferences", severity="warning", timeout=8, markup=False)

    def get_line_filters(self) -> Sequence[LineFilter]:
        return [*super().get_line_filters(), *([PlainGlyphs()] if self._has_plain_glyphs else [])]

    def watch_theme(self, theme: str) -> None:
        self._set_theme_classes()
        self.preferences.save(theme=theme)

    def action_use_glyphs(self, glyphs: str) -> None:
        self.state.glyphs = glyphs
        self.preferences.save(glyphs=glyphs)
        if isinstance(self.screen, ViewScreen):
            self.screen.use_glyphs()

    async def run_action(
        self,
        action: str | ActionParseResult,
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        with self._guard(str(action)):
            return await super().run_action(action, default_namespace, namespaces)
        return True

    def action_view(self, view: str) -> None:
        if view != self.current_mode:
            self.switch_mode(view)

    def action_help(self) -> None:
        from clarinet_tui.ui.screens.help import HelpScreen, list_view_bindings

        problem = self.state.snapshot.problem if self.state.snapshot else ""
        self.push_screen(HelpScreen(list_view_bindings(self.screen), problem))

    async def action_quit(self) -> None:
        """Quit without a question: runs have processes of their own."""
        running = self.state.snapshot.listing.running if self.state.snapshot else 0
        message = f"{running} {'run continues' if running == 1 else 'runs continue'} in the background."
        self.exit(message=f"{message} Open clarinet-tui again to watch." if running else None)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Return the actions of the view, then those of Textual."""
        from clarinet_tui.ui.screens.help import list_commands

        commands = list(list_commands(self, screen))
        titles = {command.title for command in commands}
        return [*commands, *(other for other in super().get_system_commands(screen) if other.title not in titles)]

    @work(thread=True, exit_on_error=False)
    def _prepare_compare(self) -> None:
        """Import the Compare view in a thread; whatever that raises is logged and shown."""
        try:
            import_compare()
        except Exception as error:  # noqa: BLE001  reported, whatever it is
            self.call_later(self.report_error, error, "the Compare view")

    def _show_machine(self, machine: MachineSnapshot) -> None:
        self.state.machine = machine
        self._update_views()

    def _show_inspection(self, progress: InspectionProgress) -> None:
        """Show that an inspection has started, made progress or ended."""
        if not progress.has_ended:
            self.state.inspections[progress.run] = progress
        else:
            self.state.inspections.pop(progress.run, None)
            text = f"{progress.run}: {progress.error}" if progress.error else f"{progress.run} is inspected"
            severity: SeverityLevel = "error" if progress.error else "information"
            self.notify(printable(text), title="Inspection", severity=severity, timeout=8, markup=False)
        self._update_views()

    def _receive_history(self, snapshot: HistorySnapshot) -> None:
        """Called by the feed's thread."""
        self._newest_snapshot = snapshot
        self.call_later(self._show_history)

    def _show_history(self) -> None:
        """Show the newest snapshot; several that have arrived meanwhile are shown as one."""
        snapshot, previous = self._newest_snapshot, self.state.snapshot
        if not self.is_running or snapshot is None or snapshot is previous:
            return
        if self.is_handling_input and time.monotonic() - self._shown_at < MAX_DELAY:
            self.call_after_input(self._show_history)
            return
        self._shown_at = time.monotonic()
        self.state.snapshot = snapshot
        if snapshot.problem and (previous is None or previous.problem != snapshot.problem):
            self.notify(snapshot.problem, title="History", severity="error", timeout=10, markup=False)
        self._update_views()
        is_prepared = self._families >= set(COMPARED_FAMILIES)
        self._families |= {run.family for run in snapshot.listing.rows if snapshot.is_ingested}
        if not is_prepared and self._families >= set(COMPARED_FAMILIES):  # so that the Compare view opens at once
            self.set_timer(IDLE_SECONDS, self._prepare_compare)

    def _update_views(self) -> None:
        """Show the new state; not while the app ends, when screens are being removed."""
        for screen in self.screen_stack if self.is_running else ():
            if isinstance(screen, ViewScreen):
                with self._guard(screen.NAME):
                    screen.update_view()

    @contextmanager
    def _guard(self, where: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            if not self.catches_errors:
                raise
            self.report_error(error, where)

    def report_error(self, error: Exception, where: str) -> None:
        """Log an unexpected exception and show it."""
        if message := self._error_log.write(error, where):
            self.notify(printable(message), title="Error", severity="error", timeout=15, markup=False)
