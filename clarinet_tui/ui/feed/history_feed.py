"""The feed: threads that ingest and read the history, so that the screens never wait for a disk.

One thread ingests what runs have written since, the other reads what the visible screen wants and posts a snapshot when
something has changed: at most so often as it was told, and at once for what the user asks.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from clarinet_tui.ui.snapshot.snapshot import Snapshot, ViewRequest
from core.errors import describe_error

if TYPE_CHECKING:
    from clarinet_tui.history.database import Database

FPS = 4.0
"""Snapshots a second, at most."""
RETRY_SECONDS = 2.0
"""Seconds after a failure until the history is tried again."""
STATE_SECONDS = 2.0
"""Seconds between two looks at which processes live."""
PARTIAL_INTERVAL = 0.02
"""Seconds between two looks when the first was cut short."""
SHOWN_RUN_SECONDS = 1.0
"""Seconds that a run in view may take before the others get their turn."""
PREPARE = 1.5
"""Seconds after the first look when there is time to load what only comparisons need."""
REST_FACTOR = 4.0
"""Ingesting rests this many times as long as it worked, so that it never takes a core for itself."""


class HistoryFeed:
    """Give it `post`, which is called from another thread; say `want` for another view; `stop` ends it."""

    def __init__(
        self,
        runs_dir: Path,
        post: Callable[[Snapshot], object],
        *,
        database: Path | None = None,
        interval: float = 1 / FPS,
    ) -> None:
        self.runs_dir, self.database = runs_dir, database
        self._post, self.interval = post, interval
        self._request = ViewRequest()
        self._wake, self._stopped = threading.Event(), threading.Event()
        self._ingest_error = ""
        self._opened, self._read_once, self._ingested_once = threading.Event(), threading.Event(), threading.Event()
        """Whether the database was brought up to date, read once, and everything was ingested once."""
        self._threads = [
            threading.Thread(target=self._read_loop, name="feed", daemon=True),
            threading.Thread(target=self._ingest_loop, name="ingest", daemon=True),
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

    def request(self, wanted: ViewRequest) -> None:
        """Another view: it is read at once."""
        if wanted != self._request:
            self._request = wanted
            self._wake.set()

    def _read_loop(self) -> None:
        from clarinet_tui.ui.feed.history_reader import HistoryReader

        reader = HistoryReader(self.runs_dir, self.database)
        said, posted, prepare_at = "", float("-inf"), time.monotonic() + PREPARE
        while not self._stopped.is_set():
            try:
                snapshot = reader.read(self._request, settled=self._ingested_once.is_set(), trouble=self._ingest_error)
            except Exception as error:  # noqa: BLE001  whatever it is, the user reads it and the runs go on
                reader.close()
                if not self._opened.is_set():
                    self._opened.wait(RETRY_SECONDS)  # it is being made or brought up to date
                    continue
                snapshot = Snapshot(problem=describe_error(error)) if describe_error(error) != said else None
                self._stopped.wait(RETRY_SECONDS)
            early = reader.is_partial and time.monotonic() - posted < self.interval
            if snapshot and not early and not self._stopped.is_set():
                said, posted = snapshot.problem, time.monotonic()
                self._post(snapshot)
            self._read_once.set()
            if time.monotonic() > prepare_at and self._ingested_once.is_set() and not reader.has_more:
                prepare_at = float("inf")
                reader.prepare()
            self._wake.wait(PARTIAL_INTERVAL if reader.has_more else self.interval)
            self._wake.clear()
        reader.close()

    def _ingest_loop(self) -> None:
        """The first look at what is there already comes before the import of what ingesting needs."""
        ingester = HistoryUpdater(self.runs_dir, self.database)
        while not self._stopped.is_set():
            began = time.monotonic()
            try:
                ingester.open()
                self._opened.set()
                self._read_once.wait(RETRY_SECONDS)
                ingester.ingest(began, [wanted.run for wanted in self._request.curves])
                self._ingest_error = ""
            except Exception as error:  # noqa: BLE001  reading may still work
                self._ingest_error = describe_error(error)
                self._opened.set()
                self._stopped.wait(RETRY_SECONDS)
            self._ingested_once.set()
            self._stopped.wait(max(self.interval, REST_FACTOR * (time.monotonic() - began)))
        ingester.close()


@dataclass
class HistoryUpdater:
    """One thread's hand on the history: brings in what runs have written, and looks after those that are not over."""

    runs_dir: Path
    database: Path | None
    _db: Database | None = None
    _states_refreshed: float = float("-inf")

    def open(self) -> None:
        """Opens the database, or makes it, if there is a runs directory: looking at nothing creates nothing."""
        from clarinet_tui.history.database import Database

        if self._db:
            self._db.reopen_if_replaced()
        elif self.runs_dir.is_dir():
            self._db = Database.open(self.runs_dir, self.database)

    def ingest(self, now: float, first: Sequence[str] = ()) -> None:
        """What somebody looks at comes first: the others may take long."""
        from clarinet_tui.history.ingest import ingest_all, ingest_run
        from clarinet_tui.history.states import refresh_states
        from clarinet_tui.runs.directory import RunDirectory

        if not self._db:
            return
        for run in first:
            with suppress(OSError):
                ingest_run(self._db, RunDirectory(self.runs_dir, run), limit_seconds=SHOWN_RUN_SECONDS)
        ingest_all(self._db, self.runs_dir)
        if now - self._states_refreshed >= STATE_SECONDS:
            refresh_states(self._db, self.runs_dir)
            self._states_refreshed = now

    def close(self) -> None:
        if self._db:
            self._db.close()
