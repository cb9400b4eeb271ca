"""The journal's only writer: the training thread formats lines, a background thread writes them."""

import contextlib
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from clarinet_tui.runs.files import ends_mid_line, open_append
from clarinet_tui.runs.journal import IterationFormatter, format_event
from core.events import Checkpointed, Evaluated, Event, Failed, Finished, Sampled, Stepped, Stopped
from core.files import sync_directory

CHUNK = 1 << 20
CLOSE_TIMEOUT = 60.0
"""Seconds to wait for space on a full disk before the last events are lost."""
SYNCED = (Evaluated, Checkpointed)
"""Events that the background thread syncs to the disk soon; the final ones are synced at once."""
FINAL = (Stopped, Failed, Finished)


class JournalWriter(contextlib.AbstractContextManager["JournalWriter"]):
    """Append events to a journal. `append`, `sync` and `close` belong to one thread; a background thread flushes,
    and `append_sample` may be called from any thread before `close`.

    While the disk is full, up to `max_pending` bytes stay in memory; after that `append` waits, and so does training.
    `notify` gets a message when writing fails, when training pauses and when writing works again, from either thread.
    Once `can_wait` returns False, `append` waits no longer, and `close` raises if something could not be written.

    After a failed fsync the system may have dropped what was written, and a later fsync that succeeds does not show it.
    So the journal of this attempt counts as not durable from then on: `sync_or_wait` and `close` raise the error.
    """

    def __init__(
        self,
        path: Path,
        *,
        now: Callable[[], float] = time.time,
        notify: Callable[[str], None] = lambda message: None,
        can_wait: Callable[[], bool] = lambda: True,
        interval: float = 0.25,
        max_pending: int = 64 << 20,
        write: Callable[[int, memoryview], int] = os.write,
        fsync: Callable[[int], None] = os.fsync,
    ) -> None:
        self.path = path
        self._now, self._notify_user, self._can_wait = now, notify, can_wait
        self._interval, self._max_pending, self._write, self._fsync = interval, max_pending, write, fsync
        self._is_named = path.exists()
        """Whether the file's name is on the disk: that of a new file is synced with its first content."""
        self._file = open_append(path)
        self._attempt = os.urandom(8).hex()
        """Identifies this attempt: its first event has it, which distinguishes two journals of one run."""
        self._lines: deque[bytes] = deque()
        self._rest = memoryview(b"\n" if ends_mid_line(self._file) else b"")
        """Bytes taken from the lines and not written yet; the first one ends a line that was cut off."""
        self._appended, self._sampled, self._written = len(self._rest), 0, 0
        """Bytes. Only the owner's thread changes the first; the others change under `_disk`."""
        self._formatter = IterationFormatter()
        self._disk = threading.Lock()
        self._wake, self._room = threading.Event(), threading.Event()
        self._sync_requested = self._paused = self._closing = False
        self._disk_error: OSError | None = None
        self._sync_error: OSError | None = None
        self._thread = threading.Thread(target=self._flush_periodically, name="journal", daemon=True)
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pending_bytes(self) -> int:
        """Bytes that are not in the file yet."""
        return self._appended + self._sampled - self._written

    def append(self, event: Event) -> None:
        if isinstance(event, Stepped):
            line = self._formatter.format(event)
        else:
            line, self._attempt = format_event(event, self._now(), self._attempt), ""
        self._lines.append(line)
        self._appended += len(line)
        if type(event) in FINAL:  # isinstance would be slow here: this runs for every iteration
            self.sync()
        elif type(event) in SYNCED:
            self._sync_requested = True
            self._wake.set()
        while self._appended - self._written > self._max_pending and self._can_wait():
            self._wake.set()
            self._room.clear()
            self._room.wait(self._interval)
            self._report_pause()

    def append_sample(self, event: Sampled) -> None:
        """Append from another thread; it waits for the disk if need be, and the owner's thread does not."""
        line = format_event(event, self._now())
        with self._disk:
            self._lines.append(line)
            self._sampled += len(line)

    def sync(self) -> None:
        """Write and sync everything; on a full disk, what does not fit stays pending."""
        with self._disk:
            self._flush()
            self._sync()

    def check_sync(self) -> None:
        """Sync, and raise the OSError of a failed fsync."""
        self.sync()
        if self._sync_error:
            raise self._sync_error

    def sync_or_wait(self) -> None:
        """Sync, waiting for space on a full disk; raise the disk's OSError if the journal is not durable.

        On a full disk that is once `can_wait` returns False, after a failed fsync at once.
        """
        self.sync()
        while self.pending_bytes and not self._sync_error and self._can_wait():
            self._report_pause()
            time.sleep(self._interval)
            self.sync()
        if self._sync_error:
            raise self._sync_error
        if self.pending_bytes and self._disk_error:
            raise self._disk_error

    def close(self, timeout: float = CLOSE_TIMEOUT) -> None:
        """Write what is pending; raise the OSError of a failed sync, or of a disk full for `timeout` seconds."""
        if self._closing:
            return
        self._closing = True
        self._wake.set()
        self._thread.join()
        limit = time.monotonic() + timeout
        try:
            self.sync()
            while self.pending_bytes and time.monotonic() < limit:
                time.sleep(min(self._interval, 0.25))
                self.sync()
            if error := self._disk_error or self._sync_error:
                raise error
        finally:
            os.close(self._file)
            self._file = -1  # the descriptor may be reused for another file

    def _flush_periodically(self) -> None:
        while not self._closing:
            self._wake.wait(self._interval)
            self._wake.clear()
            with self._disk:
                self._flush()
                if self._sync_requested:
                    self._sync_requested = False
                    self._sync()

    def _flush(self) -> None:
        """Write until nothing is pending or writing fails."""
        try:
            while self._rest or self._lines:
                if not self._rest:
                    self._rest = memoryview(self._take_lines())
                count = self._write(self._file, self._rest)
                self._rest = self._rest[count:]
                self._written += count
        except OSError as error:
            if not self._disk_error:
                self._notify(f"{error.strerror or error}: events are kept in memory and written later")
            self._disk_error = error
        else:
            if self._disk_error:
                self._disk_error, self._paused = None, False
                self._notify("can be written again: nothing was lost")
        if self.pending_bytes < self._max_pending:
            self._room.set()

    def _take_lines(self) -> bytes:
        lines: list[bytes] = []
        size = 0
        with contextlib.suppress(IndexError):
            while size < CHUNK:
                lines.append(self._lines.popleft())
                size += len(lines[-1])
        return b"".join(lines)

    def _sync(self) -> None:
        try:
            self._fsync(self._file)
            if not self._is_named:
                sync_directory(self.path.parent)
                self._is_named = True
        except OSError as error:
            if not self._sync_error:
                self._notify(f"{error.strerror or error}: what was written may be lost if the machine fails")
            self._sync_error = error

    def _report_pause(self) -> None:
        if self._disk_error and not self._paused:
            self._paused = True
            self._notify("still cannot be written: training pauses until it can")

    def _notify(self, message: str) -> None:
        with contextlib.suppress(Exception):  # a failing callback must not end the flushing thread
            self._notify_user(f"{self.path}: {message}")


def append_failure(path: Path, failed: Failed, timeout: float = CLOSE_TIMEOUT) -> None:
    """Record the failure of an attempt that cannot record it itself; the caller holds the run's lock."""
    journal = JournalWriter(path)
    try:
        journal.append(failed)
    finally:
        journal.close(timeout)
