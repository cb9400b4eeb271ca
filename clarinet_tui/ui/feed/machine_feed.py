"""A thread that looks at the machine while a view shows it, and rests while none does."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from core.errors import describe_error

if TYPE_CHECKING:
    from clarinet_tui.ui.snapshot.machine import MachineSnapshot

INTERVAL = 2.0
"""Between two looks."""


class MachineFeed:
    """Give it `post`, which is called from another thread; say `want` while somebody looks; `stop` ends it."""

    def __init__(
        self,
        runs_dir: Path,
        data_dir: Path,
        post: Callable[[MachineSnapshot], object],
        *,
        database: Path | None = None,
        interval: float = INTERVAL,
    ) -> None:
        self._paths = runs_dir, data_dir, database
        self._post, self.interval = post, interval
        self._views: frozenset[str] = frozenset()
        self._is_shown, self._wake, self._stopped = threading.Event(), threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._read_loop, name="machine", daemon=True)

    def poll(self, view: str, wanted: bool) -> None:
        """Whether this view shows the machine now; of two that change places, either may say so first."""
        self._views = self._views | {view} if wanted else self._views - {view}
        if not self._views:
            self._is_shown.clear()
            return
        self._is_shown.set()
        if not self._thread.ident and not self._stopped.is_set():
            self._thread.start()
        self.refresh()

    def refresh(self) -> None:
        """Something was changed: look at once."""
        self._wake.set()

    def stop(self) -> None:
        self._stopped.set()
        self._is_shown.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(timeout=1.0)

    def _read_loop(self) -> None:
        from clarinet_tui.ui.feed.machine_reader import MachineReader
        from clarinet_tui.ui.snapshot.machine import MachineSnapshot

        reader = MachineReader(*self._paths)
        seen = MachineSnapshot()
        while not self._stopped.is_set():
            self._wake.clear()
            before = seen
            try:
                seen = reader.read()
            except Exception as error:  # noqa: BLE001  whatever it is, the user reads it, and it may pass
                reader.close()
                seen = replace(before, problem=describe_error(error))
            if seen != before and not self._stopped.is_set():
                self._post(seen)
            self._wake.wait(self.interval)
            self._is_shown.wait()
        reader.close()
