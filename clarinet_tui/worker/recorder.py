"""Record the events of an attempt: at once in the journal, and from a background thread in the history.

A node of a cluster never opens the history: SQLite cannot be shared over a network. Who opens it ingests the journal.
"""

import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress

from clarinet_tui.devices.local import DeviceReader
from clarinet_tui.history.database import Database
from clarinet_tui.history.ingest import ingest_run
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.environment import write_environment
from clarinet_tui.runs.journal_writer import FINAL, JournalWriter
from clarinet_tui.runs.lock import is_batch_job
from clarinet_tui.runs.memory_peaks import record_memory_peak
from clarinet_tui.runs.stage1 import encode_labels
from clarinet_tui.worker.hardware import HardwareSampler, describe_hardware, find_gpu
from core.config import RunConfig
from core.errors import InputError
from core.events import Event, Finished, PseudoLabelled
from core.files import replace_file

INTERVAL = 1.0
END_TIMEOUT, STOP_TIMEOUT = 60.0, 5.0
"""Seconds to wait for space on a full disk at the end of a run, and after a request to stop."""


class Recorder:
    """The journal is opened with the first event, so that a run that never starts leaves no file."""

    def __init__(
        self,
        run: RunDirectory,
        config: RunConfig,
        notify: Callable[[str], None],
        is_stop_requested: Callable[[], bool] = lambda: False,
    ) -> None:
        self.device = config.device
        """The requested device, until the actual one is known."""
        self.is_durable = True
        """Whether the whole journal is on the disk; False once closing it has failed."""
        self._run, self._config, self._notify, self._is_stop_requested = run, config, notify, is_stop_requested
        self._journal: JournalWriter | None = None
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._ingest_periodically, name="ingest", daemon=True)
        self._last: Event | None = None
        self._sampler: HardwareSampler | None = None

    def record(self, event: Event) -> None:
        if self._journal is None:
            self._journal = self._open()
        if type(event) in FINAL:
            self._stop_sampler()  # no sample may follow the final event
        if isinstance(event, Finished):
            self._journal.check_sync()  # a run whose journal is not durable fails instead
        self._journal.append(event)
        self._last = event
        if isinstance(event, PseudoLabelled):
            replace_file(self._run.pseudo_labels, encode_labels(event.labels))  # the journal has only their hash

    def sync(self) -> None:
        """Sync the journal before a checkpoint is written: events before it are never emitted again."""
        if self._journal is not None:
            self._journal.sync_or_wait()

    def close(self) -> None:
        if self._journal is None:
            return
        self._stop_sampler()
        try:
            self._journal.close(timeout=STOP_TIMEOUT if self._is_stop_requested() else END_TIMEOUT)
        except OSError as error:
            self.is_durable = False
            lost = self._journal.pending_bytes
            what = f"the last {lost} bytes of events are lost" if lost else "the last events may be lost"
            advice = "free some space" if lost else "check the disk"
            self._notify(
                f"{self._run.journal}: {error.strerror or error}: {what}; "
                f"{advice} and resume the run to repeat what followed its last checkpoint"
            )
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join()

    def _open(self) -> JournalWriter:
        with DeviceReader(seconds=0) as reader:
            gpu = find_gpu(reader, self.device)
        hardware = describe_hardware(self.device, gpu)
        try:
            write_environment(self._run, self._config, device=self.device, hardware=hardware)
        except OSError as error:  # the journal matters more, and can wait for space
            self._notify(f"{self._run.environment}: {error.strerror or error}")
        journal = JournalWriter(self._run.journal, notify=self._notify, can_wait=lambda: not self._is_stop_requested())
        if not is_batch_job():
            self._thread.start()
        self._sampler = HardwareSampler(self.device, gpu, journal.append_sample, self._position)
        return journal

    def _position(self) -> tuple[int, float]:
        last = self._last
        return getattr(last, "iteration", 0), last.seconds if last else 0.0

    def _stop_sampler(self) -> None:
        sampler, self._sampler = self._sampler, None
        if sampler is None:
            return
        sampler.stop()
        if sampler.gpu_memory_peak:
            with suppress(OSError):  # only an estimate for the next runs
                record_memory_peak(self._run.runs_dir, self._config, sampler.gpu_memory_peak)

    def _ingest_periodically(self) -> None:
        """Retry when the database cannot be used: the journal has everything, and training never waits."""
        database: Database | None = None
        notified = is_last = False
        while not is_last:
            is_last = self._closing.wait(INTERVAL)
            try:
                if not self._run.path.is_dir():  # moved away: opening would create its directory again
                    raise InputError(f"{self._run.path}: does not exist any more")
                database = database or Database.open(self._run.runs_dir)
                ingest_run(database, self._run)
            except (sqlite3.Error, OSError, InputError) as error:
                database = None
                if not notified:
                    self._notify(f"history: {error}; the journal has everything and is ingested later")
                notified = True
        if database is not None:
            database.close()
