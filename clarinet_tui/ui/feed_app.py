"""The part of the app that hands what the feeds have read to the screens, and reports errors of threads and screens."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from textual.message import Message

from clarinet_tui.analysis.choices import COMPARED_FAMILIES
from clarinet_tui.text import printable
from clarinet_tui.ui.ordered_input import OrderedInput
from clarinet_tui.ui.screens.action_screen import MachineScreen
from clarinet_tui.ui.screens.view_screen import ViewScreen
from clarinet_tui.ui.snapshot.snapshot import Snapshot
from clarinet_tui.ui.textual_private import GuardedApp

if TYPE_CHECKING:
    from textual.notifications import SeverityLevel

    from clarinet_tui.ui.app_state import AppState
    from clarinet_tui.ui.error_guard import ErrorLog
    from clarinet_tui.ui.snapshot.inspection import InspectionProgress
    from clarinet_tui.ui.snapshot.machine import MachineSnapshot

MAX_DELAY = 0.5
"""Seconds for which keys may delay a snapshot: a key that is held down must not stop all updates."""
IDLE_SECONDS = 1.0
"""Delay of work that the first paint does not need."""


class FeedApp(OrderedInput, GuardedApp):
    """Receives messages of the feeds' threads; a screen that cannot show what was read does not end the app."""

    state: AppState
    _error_log: ErrorLog

    @dataclass
    class HistoryRead(Message):
        """The history feed has a new snapshot."""

        snapshot: Snapshot
        number: int  # one that waited for keys must not replace a newer one

        def can_replace(self, message: Message) -> bool:
            """A newer snapshot that is already waiting makes this one obsolete."""
            return isinstance(message, FeedApp.HistoryRead) and message.number > self.number

    @dataclass
    class MachineRead(Message):
        """Devices, queue or data have changed."""

        machine: MachineSnapshot

    @dataclass
    class InspectionChanged(Message):
        """An inspection has started, made progress or ended."""

        progress: InspectionProgress

    def __init__(self) -> None:
        super().__init__()
        self._shown_at, self._shown_number, self._numbers = float("-inf"), 0, count(1)
        self._families: set[str] = set()
        """Families of all runs listed so far."""

    def _start_thread(self, work: Callable[[], object]) -> None:
        """Run `work` in a thread; whatever it raises is logged and shown."""

        def run() -> None:
            try:
                work()
            except Exception as error:  # noqa: BLE001  reported, whatever it is
                self.call_later(self.report_error, error, work.__name__)

        self.run_worker(run, thread=True, exit_on_error=False)

    def _post_machine(self, machine: MachineSnapshot) -> None:
        """Called by the machine feed's thread."""
        self.post_message(self.MachineRead(machine))

    def on_feed_app_machine_read(self, event: MachineRead) -> None:
        if not self.is_running:
            return
        self.state.machine = event.machine
        for screen in self.screen_stack:
            if isinstance(screen, MachineScreen):
                with self._guard(screen.NAME):
                    screen.receive_machine(event.machine)

    def _post_inspection(self, progress: InspectionProgress) -> None:
        """Called by the inspection feed's thread."""
        self.post_message(self.InspectionChanged(progress))

    def on_feed_app_inspection_changed(self, event: InspectionChanged) -> None:
        progress = event.progress
        if not progress.has_ended:
            self.state.inspections[progress.run] = progress
        else:
            self.state.inspections.pop(progress.run, None)
            text = f"{progress.run}: {progress.error}" if progress.error else f"{progress.run} is inspected"
            severity: SeverityLevel = "error" if progress.error else "information"
            self.notify(printable(text), title="Inspection", severity=severity, timeout=8, markup=False)
        if self.current_mode == "history" and isinstance(self.screen, ViewScreen):
            self.screen.restyle()

    def _post_snapshot(self, snapshot: Snapshot) -> None:
        """Called by the feed's thread."""
        self.post_message(self.HistoryRead(snapshot, next(self._numbers)))

    def on_feed_app_history_read(self, event: HistoryRead) -> None:
        if not self.is_running or event.number < self._shown_number:  # screens are being removed, or it is obsolete
            return
        if self.is_handling_input and time.monotonic() - self._shown_at < MAX_DELAY:
            self.post_after_input(self.HistoryRead(event.snapshot, event.number))
            return
        self._shown_at, self._shown_number = time.monotonic(), event.number
        previous = self.state.snapshot
        self.state.snapshot = event.snapshot
        if event.snapshot.problem and (previous is None or previous.problem != event.snapshot.problem):
            self.notify(event.snapshot.problem, title="History", severity="error", timeout=10, markup=False)
        for screen in self.screen_stack:
            if isinstance(screen, ViewScreen):
                with self._guard(screen.NAME):
                    screen.receive_snapshot(event.snapshot)
        self._prepare_compare(event.snapshot)

    def _prepare_compare(self, snapshot: Snapshot) -> None:
        """Once runs of both compared families are listed, import the Compare view, so that it opens at once."""
        is_prepared = self._families >= set(COMPARED_FAMILIES)
        self._families |= {run.family for run in snapshot.listing.rows if snapshot.is_ingested}
        if not is_prepared and self._families >= set(COMPARED_FAMILIES):
            self.set_timer(IDLE_SECONDS, lambda: self._start_thread(self._import_compare))

    def _import_compare(self) -> None:
        """Import ahead of time what the Compare view needs; scipy is the slowest."""
        import scipy.special  # noqa: F401

        import clarinet_tui.analysis.comparison
        import clarinet_tui.analysis.side_curves
        import clarinet_tui.ui.screens.compare  # noqa: F401

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
