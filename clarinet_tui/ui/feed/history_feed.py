"""Two pollers of the history: one ingests what runs have written, the other reads what the current view requests.

A snapshot is posted when something has changed: at most once per interval, and at once after a new request.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from clarinet_tui.ui.feed.poller import RETRY_SECONDS, Poller
from clarinet_tui.ui.snapshot.snapshot import HistorySnapshot, ViewRequest

if TYPE_CHECKING:
    from clarinet_tui.history.database import Database
    from clarinet_tui.ui.feed.history_reader import HistoryReader

FPS = 4.0
"""Maximum number of snapshots per second."""
STATE_SECONDS = 2.0
"""Interval at which the states of runs are checked against their processes."""
REPORT_SECONDS = 2.0
"""Interval of reports on a rebuild."""
PARTIAL_INTERVAL = 0.02
"""Pause between two reads while the first was incomplete."""
REST_FACTOR = 4.0
"""Ingesting pauses for this many times as long as it took, so that it never occupies a core."""


class HistoryFeed(Poller[ViewRequest, HistorySnapshot]):
    """Calls `post`, `log_error` and `report` from its own threads.

    `report` receives the progress of rebuilding a history that an older version has made; nothing is posted meanwhile.
    """

    requested: ViewRequest

    def __init__(
        self,
        runs_dir: Path,
        post: Callable[[HistorySnapshot], object],
        log_error: Callable[[Exception, str], object] = lambda error, where: None,
        report: Callable[[str], object] = lambda message: None,
        *,
        database: Path | None = None,
        interval: float = 1 / FPS,
    ) -> None:
        super().__init__("feed", post)
        self.runs_dir, self.database, self.report, self._log_error = runs_dir, database, report, log_error
        self.interval = self.usual_interval = interval
        self.opened, self.read_once, self.ingested = threading.Event(), threading.Event(), threading.Event()
        """Whether the database was created or rebuilt, read once, and all runs were ingested once."""
        self.ingest_problem = ""
        self._opened_before_read = False
        self._reader: HistoryReader | None = None
        self._posted = float("-inf")
        self._ingester = _Ingester(self)
        self.request(ViewRequest())

    def start(self) -> None:
        super().start()
        self._ingester.start()

    def stop(self) -> None:
        super().stop()
        self._ingester.stop()

    def read(self, request: ViewRequest) -> Iterator[HistorySnapshot]:
        if self._reader is None:
            from clarinet_tui.ui.feed.history_reader import HistoryReader

            self._reader = HistoryReader(self.runs_dir, self.database)
        self._opened_before_read = self.opened.is_set()
        snapshot = self._reader.read(request, is_ingested=self.ingested.is_set(), problem=self.ingest_problem)
        is_early = self._reader.is_partial and time.monotonic() - self._posted < self.usual_interval
        self.interval = PARTIAL_INTERVAL if self._reader.has_more else self.usual_interval
        if snapshot and not is_early:
            self._posted = time.monotonic()
            yield snapshot
        self.read_once.set()

    def on_error(self, error: Exception, last: HistorySnapshot | None) -> HistorySnapshot | None:
        self.read_once.set()
        if not self._opened_before_read:  # the database was being created or rebuilt
            self.opened.wait(RETRY_SECONDS)
            return None
        problem = self.describe(error)
        return last if last and last.problem == problem else HistorySnapshot(problem=problem)

    def close(self) -> None:
        if self._reader:
            self._reader.close()
        self._reader = None

    def on_ingested(self, problem: str) -> None:
        self.ingest_problem = problem
        self.opened.set()
        self.ingested.set()

    def describe(self, error: Exception) -> str:
        """Log the error, and return it as a sentence."""
        from core.errors import describe_error  # importing `core` takes too long for the first paint

        self._log_error(error, "the history feed")
        return describe_error(error)


class _Ingester(Poller[Path, str]):
    """Ingests what runs have written, and refreshes the states of unfinished runs; posts an error message or ""."""

    def __init__(self, feed: HistoryFeed) -> None:
        super().__init__("ingest", feed.on_ingested)
        self._feed = feed
        self._db: Database | None = None
        self._states_refreshed = float("-inf")
        self.request(feed.runs_dir)

    def read(self, runs_dir: Path) -> Iterator[str]:
        """Bring the history up to date; the runs of the view come first, because the others may take long.

        Without a runs directory nothing is created.
        """
        feed = self._feed
        feed.read_once.wait(RETRY_SECONDS)  # existing runs are shown before ingestion is imported
        started = time.monotonic()
        if self._db:
            self._db.reopen_if_replaced()
        elif runs_dir.is_dir():
            self._db = self._open(runs_dir)
        feed.opened.set()
        if self._db:
            from clarinet_tui.history.states import update_history

            refreshes_states = started - self._states_refreshed >= STATE_SECONDS
            first = [curves.run for curves in feed.requested.curves]
            update_history(self._db, runs_dir, first=first, states=refreshes_states)
            self._states_refreshed = started if refreshes_states else self._states_refreshed
        self.interval = max(feed.usual_interval, REST_FACTOR * (time.monotonic() - started))
        yield ""

    def _open(self, runs_dir: Path) -> Database:
        from clarinet_tui.history.database import Database, OutdatedHistoryError

        try:
            return Database.open(runs_dir, self._feed.database)
        except OutdatedHistoryError:
            from clarinet_tui.history.reindex import open_history

            reported = float("-inf")

            def report(done: int, total: int) -> None:
                nonlocal reported
                if time.monotonic() - reported >= REPORT_SECONDS:
                    reported = time.monotonic()
                    progress = f": {done} of {total} runs" if total else " …"
                    self._feed.report(f"An older version of Clarinet has made the history; rebuilding it{progress}")

            return open_history(runs_dir, self._feed.database, report)

    def on_error(self, error: Exception, last: str | None) -> str:
        return self._feed.describe(error)

    def close(self) -> None:
        if self._db:
            self._db.close()
        self._db = None
