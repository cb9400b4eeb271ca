"""Keeps what a run says: the journal at once, the history from a thread of its own."""

import sqlite3
import threading
from collections.abc import Callable

from clarinet_tui.history.database import Database
from clarinet_tui.history.ingest import ingest_run
from clarinet_tui.journal.directory import RunDirectory
from clarinet_tui.journal.environment import write_environment
from clarinet_tui.journal.files import replace_file
from clarinet_tui.journal.writer import JournalWriter
from core.config import RunConfig
from core.errors import InputError
from core.events import Event, PseudoLabelled, Resumed, Started

INTERVAL = 1.0


class Recorder:
    """Opens the journal with the first event, so that a run that never began leaves nothing behind."""

    def __init__(self, run: RunDirectory, config: RunConfig, say: Callable[[str], None]) -> None:
        self._run = run
        self._config = config
        self._say = say
        self._journal: JournalWriter | None = None
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._ingest_often, name="ingest", daemon=True)

    def record(self, event: Event) -> None:
        if self._journal is None:
            self._open(event)
        assert self._journal is not None
        self._journal.append(event)
        if isinstance(event, PseudoLabelled):
            save_labels(self._run, event.labels)

    def sync(self) -> None:
        """Make what was recorded durable."""
        if self._journal is not None:
            self._journal.sync()

    def close(self) -> None:
        if self._journal is None:
            return
        self._journal.close()
        self._closing.set()
        self._thread.join()

    def _open(self, event: Event) -> None:
        if not isinstance(event, Resumed):
            device = event.device if isinstance(event, Started) else self._config.device
            write_environment(self._run, self._config, device=device)
        self._journal = JournalWriter(self._run.journal, say=self._say)
        self._thread.start()

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


def save_labels(run: RunDirectory, labels: list[int]) -> None:
    """Stage 1's labels beside the journal, which holds only their hash."""
    import io

    import numpy as np

    buffer = io.BytesIO()
    np.save(buffer, np.asarray(labels, dtype=np.int64), allow_pickle=False)
    replace_file(run.pseudo_labels, buffer.getvalue())
