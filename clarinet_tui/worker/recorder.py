"""Keeps what a run says: the journal at once, the history from a thread of its own."""

import sqlite3
import threading
from collections.abc import Callable
from typing import Any

from clarinet_tui.history.database import Database
from clarinet_tui.history.ingest import ingest_run
from clarinet_tui.runs.atomic_files import replace_file
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.environment import read_environment, write_environment
from clarinet_tui.runs.journal_writer import JournalWriter
from clarinet_tui.runs.stage1 import encoded
from core.config import RunConfig
from core.errors import InputError
from core.events import Event, PseudoLabelled

INTERVAL = 1.0
PATIENCE, LEAVING_PATIENCE = 60.0, 5.0
"""Seconds to wait for room on a full disk at the end, and when the run was asked to stop."""


class Recorder:
    """Opens the journal with the first event, so that a run that never began leaves nothing behind."""

    def __init__(
        self,
        run: RunDirectory,
        config: RunConfig,
        say: Callable[[str], None],
        asked_to_stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self.device = config.device
        """Where the run computes, as far as it is known."""
        self.lost = 0
        """Bytes that a full disk did not take."""
        self._run = run
        self._config = config
        self._say = say
        self._asked_to_stop = asked_to_stop
        self._journal: JournalWriter | None = None
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._ingest_often, name="ingest", daemon=True)

    def record(self, event: Event) -> None:
        if self._journal is None:
            self._journal = self._open()
        self._journal.append(event)
        if isinstance(event, PseudoLabelled):
            replace_file(self._run.pseudo_labels, encoded(event.labels))  # the journal holds only their hash

    def sync(self) -> None:
        """Make what was recorded durable: a run that goes on from a checkpoint never says again what came before."""
        if self._journal is not None:
            self._journal.secure()

    def close(self) -> None:
        if self._journal is None:
            return
        try:
            self._journal.close(patience=LEAVING_PATIENCE if self._asked_to_stop() else PATIENCE)
        except OSError as error:
            self.lost = self._journal.behind
            self._say(
                f"{self._run.journal}: {error.strerror or error}: the last {self.lost} bytes of what the run said "
                "are lost; make room and resume it, and it says again what came after its last checkpoint"
            )
        self._closing.set()
        self._thread.join()

    def _open(self) -> JournalWriter:
        try:
            write_environment(self._run, self._config, device=self.device, extra=_sittings_before(self._run))
        except OSError as error:  # the journal can wait for room, and matters more
            self._say(f"{self._run.environment}: {error.strerror or error}")
        journal = JournalWriter(self._run.journal, say=self._say, patient=lambda: not self._asked_to_stop())
        self._thread.start()
        return journal

    def _ingest_often(self) -> None:
        """The journal is the truth: a database that cannot be had is tried again, and costs the run nothing."""
        database: Database | None = None
        told = False
        last = False
        while not last:
            last = self._closing.wait(INTERVAL)
            try:
                database = database or Database.open(self._run.runs_dir)
                ingest_run(database, self._run)
            except (sqlite3.Error, OSError, InputError) as error:
                database = None
                if not told:
                    self._say(f"history: {error}; the journal has everything, and is read again later")
                told = True
        if database is not None:
            database.close()


def _sittings_before(run: RunDirectory) -> dict[str, Any]:
    """When and where the run sat before: a resumed one may be on another machine, and has one environment.json."""
    before = read_environment(run)
    if not before:
        return {}
    git = before.get("git")
    here = {name: before.get(name) for name in ("time", "host", "device")}
    here["commit"] = git.get("commit") if isinstance(git, dict) else None
    earlier = before.get("sittings")
    return {"sittings": [*(earlier if isinstance(earlier, list) else []), here]}
