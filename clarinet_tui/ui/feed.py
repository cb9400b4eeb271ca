"""The feed: threads that ingest and read the history, so that the screens never wait for a disk.

One thread ingests what runs have written since, the other reads what the visible screen wants and posts a snapshot when
something has changed: at most four a second, and at once for what the user asks.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from clarinet_tui.ui.snapshot import Snapshot, Wanted

INTERVAL = 0.25
PATIENCE = 2.0
"""Seconds after a failure until the history is tried again."""
LOOK_AFTER = 2.0
"""Seconds between two looks at which processes live."""
LEISURE = 4.0
"""Ingesting rests this many times as long as it worked, so that it never takes a core for itself."""


class Feed:
    """Give it `post`, which is called from another thread; say `want` for another view; `stop` ends it."""

    def __init__(
        self,
        runs_dir: Path,
        post: Callable[[Snapshot], object],
        *,
        database: Path | None = None,
        interval: float = INTERVAL,
    ) -> None:
        self.runs_dir, self.database = runs_dir, database
        self._post, self._interval = post, interval
        self._wanted = Wanted()
        self._wake, self._stopped = threading.Event(), threading.Event()
        self._trouble = ""
        self._opened, self._caught_up = threading.Event(), threading.Event()
        """Whether the database was brought up to date, and whether everything was ingested once."""
        self._threads = [
            threading.Thread(target=self._read_often, name="feed", daemon=True),
            threading.Thread(target=self._ingest_often, name="ingest", daemon=True),
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Ends the threads; waits a moment for what they have begun."""
        self._stopped.set()
        self._wake.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join(timeout=1.0)

    def want(self, wanted: Wanted) -> None:
        """Another view: it is read at once."""
        if wanted != self._wanted:
            self._wanted = wanted
            self._wake.set()

    def _read_often(self) -> None:
        from clarinet_tui.ui.reader import Reader

        reader = Reader(self.runs_dir, self.database)
        said = ""
        self._opened.wait(PATIENCE)
        while not self._stopped.is_set():
            try:
                snapshot = reader.look(self._wanted, settled=self._caught_up.is_set())
                if snapshot and self._trouble:
                    snapshot = replace(snapshot, problem=self._trouble)
            except Exception as error:  # noqa: BLE001  whatever it is, the user reads it and the runs go on
                reader.close()
                snapshot = Snapshot(problem=sentence(error))
                snapshot = None if snapshot.problem == said else snapshot
                self._stopped.wait(PATIENCE)
            if snapshot and not self._stopped.is_set():
                said = snapshot.problem
                self._post(snapshot)
            self._wake.wait(self._interval)
            self._wake.clear()
        reader.close()

    def _ingest_often(self) -> None:
        from clarinet_tui.history.database import Database
        from clarinet_tui.history.ingest import ingest_all
        from clarinet_tui.history.states import refresh_states

        db: Database | None = None
        looked_after = -LOOK_AFTER
        while not self._stopped.is_set():
            began = time.monotonic()
            try:
                if db:
                    db.renew()
                elif self.runs_dir.is_dir():
                    db = Database.open(self.runs_dir, self.database)
                self._opened.set()
                if db:
                    ingest_all(db, self.runs_dir)
                    if began - looked_after >= LOOK_AFTER:
                        refresh_states(db, self.runs_dir)
                        looked_after = began
                self._trouble = ""
            except Exception as error:  # noqa: BLE001  reading may still work
                self._trouble = sentence(error)
                self._opened.set()
                self._stopped.wait(PATIENCE)
            self._caught_up.set()
            self._stopped.wait(max(self._interval, LEISURE * (time.monotonic() - began)))
        if db:
            db.close()


def sentence(error: Exception) -> str:
    """What went wrong, in one sentence; our own errors already are one."""
    from core.errors import InputError

    return str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
