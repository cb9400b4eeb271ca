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

from clarinet_tui.ui.snapshot.snapshot import Snapshot, Wanted

if TYPE_CHECKING:
    from clarinet_tui.history.database import Database

FPS = 4.0
"""Snapshots a second, at most."""
PATIENCE = 2.0
"""Seconds after a failure until the history is tried again."""
LOOK_AFTER = 2.0
"""Seconds between two looks at which processes live."""
BREATH = 0.02
"""Seconds between two looks when the first was cut short."""
FIRST = 1.0
"""Seconds that a run in view may take before the others get their turn."""
PREPARE = 1.5
"""Seconds after the first look when there is time to load what only comparisons need."""
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
        interval: float = 1 / FPS,
    ) -> None:
        self.runs_dir, self.database = runs_dir, database
        self._post, self.interval = post, interval
        self._wanted = Wanted()
        self._wake, self._stopped = threading.Event(), threading.Event()
        self._trouble = ""
        self._opened, self._looked, self._caught_up = threading.Event(), threading.Event(), threading.Event()
        """Whether the database was brought up to date, read once, and everything was ingested once."""
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
        from clarinet_tui.ui.feed.history_reader import Reader

        reader = Reader(self.runs_dir, self.database)
        said, posted, prepare_at = "", float("-inf"), time.monotonic() + PREPARE
        while not self._stopped.is_set():
            try:
                snapshot = reader.look(self._wanted, settled=self._caught_up.is_set(), trouble=self._trouble)
            except Exception as error:  # noqa: BLE001  whatever it is, the user reads it and the runs go on
                reader.close()
                if not self._opened.is_set():
                    self._opened.wait(PATIENCE)  # it is being made or brought up to date
                    continue
                snapshot = Snapshot(problem=sentence(error)) if sentence(error) != said else None
                self._stopped.wait(PATIENCE)
            early = reader.cut_short and time.monotonic() - posted < self.interval
            if snapshot and not early and not self._stopped.is_set():
                said, posted = snapshot.problem, time.monotonic()
                self._post(snapshot)
            self._looked.set()
            if time.monotonic() > prepare_at and self._caught_up.is_set() and not reader.busy:
                prepare_at = float("inf")
                reader.prepare()
            self._wake.wait(BREATH if reader.busy else self.interval)
            self._wake.clear()
        reader.close()

    def _ingest_often(self) -> None:
        """The first look at what is there already comes before the import of what ingesting needs."""
        ingester = Ingester(self.runs_dir, self.database)
        while not self._stopped.is_set():
            began = time.monotonic()
            try:
                ingester.open()
                self._opened.set()
                self._looked.wait(PATIENCE)
                ingester.ingest(began, [wanted.run for wanted in self._wanted.curves])
                self._trouble = ""
            except Exception as error:  # noqa: BLE001  reading may still work
                self._trouble = sentence(error)
                self._opened.set()
                self._stopped.wait(PATIENCE)
            self._caught_up.set()
            self._stopped.wait(max(self.interval, LEISURE * (time.monotonic() - began)))
        ingester.close()


@dataclass
class Ingester:
    """One thread's hand on the history: brings in what runs have written, and looks after those that are not over."""

    runs_dir: Path
    database: Path | None
    _db: Database | None = None
    _looked_after: float = float("-inf")

    def open(self) -> None:
        """Opens the database, or makes it, if there is a runs directory: looking at nothing creates nothing."""
        from clarinet_tui.history.database import Database

        if self._db:
            self._db.renew()
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
                ingest_run(self._db, RunDirectory(self.runs_dir, run), limit_seconds=FIRST)
        ingest_all(self._db, self.runs_dir)
        if now - self._looked_after >= LOOK_AFTER:
            refresh_states(self._db, self.runs_dir)
            self._looked_after = now

    def close(self) -> None:
        if self._db:
            self._db.close()


def sentence(error: Exception) -> str:
    """What went wrong, in one sentence; our own errors already are one."""
    from core.errors import InputError

    return str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
