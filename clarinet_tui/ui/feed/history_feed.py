"""Two threads that ingest and read the history, so that screens never wait for a disk.

One thread ingests what runs have written. The other reads what the current view requests and posts a snapshot when
something has changed: at most once per interval, and at once after a new request.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from clarinet_tui.ui.snapshot.snapshot import Snapshot, ViewRequest

if TYPE_CHECKING:
    from clarinet_tui.history.database import Database

FPS = 4.0
"""Maximum number of snapshots per second."""
RETRY_SECONDS = 2.0
"""Pause after an error."""
STATE_SECONDS = 2.0
"""Interval at which the states of runs are checked against their processes."""
PARTIAL_INTERVAL = 0.02
"""Pause between two reads while the first was incomplete."""
REST_FACTOR = 4.0
"""Ingesting pauses for this many times as long as it took, so that it never occupies a core."""


class HistoryFeed:
    """Calls `post` and `log_error` from its own threads; `request` changes what it reads, `stop` ends it."""

    def __init__(
        self,
        runs_dir: Path,
        post: Callable[[Snapshot], object],
        log_error: Callable[[Exception, str], object] = lambda error, where: None,
        *,
        database: Path | None = None,
        interval: float = 1 / FPS,
    ) -> None:
        self.runs_dir, self.database = runs_dir, database
        self._post, self._log_error, self.interval = post, log_error, interval
        self._request = ViewRequest()
        self._wake, self._stopped = threading.Event(), threading.Event()
        self._ingest_error, self._posted_problem = "", ""
        self._opened, self._read_once, self._ingested_once = threading.Event(), threading.Event(), threading.Event()
        """Whether the database was created or rebuilt, read once, and all runs were ingested once."""
        self._opened_before_read = False
        self._threads = [
            threading.Thread(target=self._repeat, args=(self._read_loop, self._read_failed), name="feed", daemon=True),
            threading.Thread(
                target=self._repeat, args=(self._ingest_loop, self._ingest_failed), name="ingest", daemon=True
            ),
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End the threads; wait up to a second for each."""
        self._stopped.set()
        self._wake.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join(timeout=1.0)

    def request(self, request: ViewRequest) -> None:
        """Read this from now on, and at once if it is new."""
        if request != self._request:
            self._request = request
            self._wake.set()

    def _repeat(self, loop: Callable[[], None], on_error: Callable[[Exception], None]) -> None:
        """Run a loop until the feed stops; start it again after any error."""
        while not self._stopped.is_set():
            try:
                loop()
            except Exception as error:  # noqa: BLE001  shown and logged; it may pass
                on_error(error)

    def _read_loop(self) -> None:
        from clarinet_tui.ui.feed.history_reader import HistoryReader

        posted = float("-inf")
        with closing(HistoryReader(self.runs_dir, self.database)) as reader:
            while not self._stopped.is_set():
                self._opened_before_read, is_ingested = self._opened.is_set(), self._ingested_once.is_set()
                snapshot = reader.read(self._request, is_ingested=is_ingested, problem=self._ingest_error)
                is_early = reader.is_partial and time.monotonic() - posted < self.interval
                if snapshot and not is_early and not self._stopped.is_set():
                    self._posted_problem, posted = snapshot.problem, time.monotonic()
                    self._post(snapshot)
                self._read_once.set()
                self._wake.wait(PARTIAL_INTERVAL if reader.has_more else self.interval)
                self._wake.clear()

    def _read_failed(self, error: Exception) -> None:
        if not self._opened_before_read:  # the database was being created or rebuilt
            self._opened.wait(RETRY_SECONDS)
            return
        problem = self._describe(error)
        if problem != self._posted_problem:
            self._posted_problem = problem
            self._post(Snapshot(problem=problem))
        self._read_once.set()
        self._stopped.wait(RETRY_SECONDS)

    def _ingest_loop(self) -> None:
        with closing(HistoryUpdater(self.runs_dir, self.database)) as updater:
            while not self._stopped.is_set():
                started = time.monotonic()
                updater.open()
                self._opened.set()
                self._read_once.wait(RETRY_SECONDS)  # existing runs are shown before ingestion is imported
                updater.update(started, [curves.run for curves in self._request.curves])
                self._ingest_error = ""
                self._ingested_once.set()
                self._stopped.wait(max(self.interval, REST_FACTOR * (time.monotonic() - started)))

    def _ingest_failed(self, error: Exception) -> None:
        self._ingest_error = self._describe(error)
        self._opened.set()
        self._ingested_once.set()
        self._stopped.wait(RETRY_SECONDS)

    def _describe(self, error: Exception) -> str:
        """Log the error, and return it as a sentence."""
        from core.errors import describe_error  # importing `core` takes too long for the first paint

        self._log_error(error, "the history feed")
        return describe_error(error)


@dataclass
class HistoryUpdater:
    """Ingests what runs have written, and refreshes the states of unfinished runs; used by one thread."""

    runs_dir: Path
    database: Path | None
    _db: Database | None = None
    _states_refreshed: float = float("-inf")

    def open(self) -> None:
        """Open, create or rebuild the database; without a runs directory nothing is created."""
        from clarinet_tui.history.reindex import open_history

        if self._db:
            self._db.reopen_if_replaced()
        elif self.runs_dir.is_dir():
            self._db = open_history(self.runs_dir, self.database)

    def update(self, now: float, first: Sequence[str] = ()) -> None:
        """Bring the history up to date; the runs in `first` come first, because the others may take long."""
        from clarinet_tui.history.states import update_history

        if not self._db:
            return
        states = now - self._states_refreshed >= STATE_SECONDS
        update_history(self._db, self.runs_dir, first=first, states=states)
        if states:
            self._states_refreshed = now

    def close(self) -> None:
        if self._db:
            self._db.close()
