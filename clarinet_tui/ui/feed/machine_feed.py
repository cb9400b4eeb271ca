"""A thread that reads devices, queue and data while a view shows them, and waits while none does."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clarinet_tui.ui.snapshot.machine import MachineSnapshot

INTERVAL = 2.0
"""Seconds between two reads."""


class MachineFeed:
    """Calls `post` and `log_error` from its own thread; `poll` starts and pauses it, `stop` ends it."""

    def __init__(
        self,
        runs_dir: Path,
        data_dir: Path,
        post: Callable[[MachineSnapshot], object],
        log_error: Callable[[Exception, str], object] = lambda error, where: None,
        *,
        database: Path | None = None,
        interval: float = INTERVAL,
    ) -> None:
        self._paths = runs_dir, data_dir, database
        self._post, self._log_error, self.interval = post, log_error, interval
        self._views: frozenset[str] = frozenset()
        self._is_shown, self._wake, self._stopped = threading.Event(), threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="machine", daemon=True)
        self._last: MachineSnapshot | None = None

    def poll(self, view: str, is_shown: bool) -> None:
        """Register whether a view shows the machine; two views that change places may call in either order."""
        self._views = self._views | {view} if is_shown else self._views - {view}
        if not self._views:
            self._is_shown.clear()
            return
        self._is_shown.set()
        if not self._thread.ident and not self._stopped.is_set():
            self._thread.start()
        self.refresh()

    def refresh(self) -> None:
        """Read at once, after a change."""
        self._wake.set()

    def stop(self) -> None:
        self._stopped.set()
        self._is_shown.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(timeout=1.0)

    def _run(self) -> None:
        """Run the loop until the feed stops; start it again after any error."""
        from clarinet_tui.ui.snapshot.machine import MachineSnapshot
        from core.errors import describe_error

        while not self._stopped.is_set():
            try:
                self._read_loop()
            except Exception as error:  # noqa: BLE001  shown and logged; it may pass
                self._log_error(error, "the machine feed")
                self._update(replace(self._last or MachineSnapshot(), problem=describe_error(error)))
                self._wait()

    def _read_loop(self) -> None:
        from clarinet_tui.ui.feed.machine_reader import MachineReader

        with closing(MachineReader(*self._paths)) as reader:
            while not self._stopped.is_set():
                self._wake.clear()
                self._update(reader.read())
                self._wait()

    def _update(self, machine: MachineSnapshot) -> None:
        if machine != self._last and not self._stopped.is_set():
            self._last = machine
            self._post(machine)

    def _wait(self) -> None:
        self._wake.wait(self.interval)
        self._is_shown.wait()
