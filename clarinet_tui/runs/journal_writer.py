"""The journal's one writer: lines are made in the training thread, and reach the disk from another."""

import contextlib
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Self

from clarinet_tui.runs.atomic_files import ends_torn, open_append
from clarinet_tui.runs.journal_format import IterationLines, event_line
from core.events import Checkpointed, Evaluated, Event, Failed, Finished, Stepped, Stopped

INTERVAL = 0.25
KEPT = 64 << 20
CHUNK = 1 << 20
SYNCED = (Evaluated, Checkpointed)
FINAL = (Stopped, Failed, Finished)


class JournalWriter:
    """Append-only. `append`, `sync` and `close` belong to one thread; a background thread flushes.

    While the disk is full, up to `kept` bytes wait in memory; then `append` waits, and training with it. `say` hears
    one sentence when that begins, one when training has to pause and one when all is well again, from either thread.
    `patient` is asked meanwhile: once it says no, `append` waits no longer, and `close` tells what could not be kept.
    """

    def __init__(
        self,
        path: Path,
        clock: Callable[[], float] = time.monotonic,
        *,
        now: Callable[[], float] = time.time,
        say: Callable[[str], None] | None = None,
        patient: Callable[[], bool] = lambda: True,
        interval: float = INTERVAL,
        kept: int = KEPT,
        write: Callable[[int, memoryview], int] = os.write,
        fsync: Callable[[int], None] = os.fsync,
    ) -> None:
        self.path = path
        self._clock, self._now, self._say = clock, now, say or (lambda sentence: None)
        self._patient = patient
        self._interval, self._kept, self._write, self._fsync = interval, kept, write, fsync
        self._file = open_append(path)
        self._lines: deque[bytes] = deque()
        self._rest = memoryview(b"\n" if ends_torn(self._file) else b"")
        """What was taken from the lines and is not written yet; a torn last line is ended first."""
        self._appended, self._written = len(self._rest), 0
        """Bytes. The first is changed by the owner's thread only, the second under `_disk` only."""
        self._format = IterationLines()
        self._disk = threading.Lock()
        self._wake, self._room = threading.Event(), threading.Event()
        self._sync_asked = self._paused = self._closing = False
        self._trouble: OSError | None = None
        self._thread = threading.Thread(target=self._flush_often, name="journal", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def behind(self) -> int:
        """Bytes that are not in the file yet."""
        return self._appended - self._written

    def append(self, event: Event) -> None:
        if isinstance(event, Stepped):
            line = self._format.line(event)
            self._lines.append(line)
            self._appended += len(line)
        else:
            self._append_ordinary(event)
        if self._appended - self._written > self._kept:
            self._wait_for_room()

    def _append_ordinary(self, event: Event) -> None:
        line = event_line(event, self._now())
        self._lines.append(line)
        self._appended += len(line)
        if isinstance(event, FINAL):
            self.sync()
        elif isinstance(event, SYNCED):
            self._sync_asked = True
            self._wake.set()

    def sync(self) -> None:
        """Everything to the disk now, unless it is full: then it stays in memory and `behind` tells how much."""
        with self._disk:
            self._flush()
            self._sync()

    def secure(self) -> None:
        """Like `sync`, but waits for room. If that may not be waited for any longer, the disk's OSError is raised."""
        self.sync()
        while self.behind and self._patient():
            self._tell_pause()
            time.sleep(self._interval)
            self.sync()
        if self.behind and self._trouble:
            raise self._trouble

    def close(self, patience: float = 60.0) -> None:
        """Write what is left. A disk that stays full for `patience` seconds raises its OSError."""
        if self._closing:
            return
        self._closing = True
        self._wake.set()
        self._thread.join()
        limit = self._clock() + patience
        try:
            self.sync()
            while self.behind and self._clock() < limit:
                time.sleep(min(self._interval, 0.25))
                self.sync()
            if self._trouble:
                raise self._trouble
        finally:
            os.close(self._file)
            self._file = -1  # the number may soon be another file's

    def _flush_often(self) -> None:
        while not self._closing:
            self._wake.wait(self._interval)
            self._wake.clear()
            with self._disk:
                self._flush()
                if self._sync_asked:
                    self._sync_asked = False
                    self._sync()

    def _flush(self) -> None:
        """Write until nothing is left or the disk refuses; what was really written is what `write` says."""
        try:
            while self._rest or self._lines:
                if not self._rest:
                    self._rest = memoryview(self._take())
                count = self._write(self._file, self._rest)
                self._rest = self._rest[count:]
                self._written += count
        except OSError as error:
            self._tell_trouble(error)
        else:
            self._tell_relief()
        if self.behind < self._kept:
            self._room.set()

    def _take(self) -> bytes:
        taken: list[bytes] = []
        size = 0
        with contextlib.suppress(IndexError):
            while size < CHUNK:
                taken.append(self._lines.popleft())
                size += len(taken[-1])
        return b"".join(taken)

    def _sync(self) -> None:
        try:
            self._fsync(self._file)
        except OSError as error:
            self._tell_trouble(error)

    def _wait_for_room(self) -> None:
        self._wake.set()
        while self._appended - self._written > self._kept and self._patient():
            self._room.clear()
            self._room.wait(self._interval)
            self._tell_pause()

    def _tell_pause(self) -> None:
        if self._trouble and not self._paused:
            self._paused = True
            self._tell("still no room: training pauses until there is")

    def _tell_trouble(self, error: OSError) -> None:
        if not self._trouble:
            self._tell(f"{error.strerror or error}: what the run says is kept in memory and tried again")
        self._trouble = error

    def _tell_relief(self) -> None:
        if self._trouble:
            self._trouble, self._paused = None, False
            self._tell("can be written again: nothing was lost")

    def _tell(self, sentence: str) -> None:
        with contextlib.suppress(Exception):  # whoever listens must not end the flushing
            self._say(f"{self.path}: {sentence}")
