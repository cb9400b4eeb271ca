"""Share stage 1 between runs: take the labels of another run, wait for them, or make them for others.

A run of GAC consists of stage 1 only: it never takes labels or waits, but makes labels for others.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

import msgspec

from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.files import UnreadableFileError
from clarinet_tui.runs.lock import LockHeldError, read_lock_owner
from clarinet_tui.runs.stage1 import Stage1Directory, Stage1Origin, stage1_key
from clarinet_tui.text import printable
from core.config import RunConfig
from core.errors import InputError
from core.events import Event, PseudoLabelled, Stepped
from core.files import replace_file
from core.methods import find_method

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from core.data.task_data import TaskData


class Stage1Sharing:
    """The run that makes the labels holds the lock until it publishes them, closes this or dies."""

    def __init__(
        self,
        run: RunDirectory,
        config: RunConfig,
        data: "TaskData",
        device: str,
        notify: Callable[[str], None],
        poll_seconds: float = 0.5,
    ) -> None:
        """While another run makes the labels, they are looked for every `poll_seconds`."""
        self.labels: list[int] | None = None
        """Labels of another run, which replace stage 1."""
        self._run, self._notify, self._poll_seconds = run, notify, poll_seconds
        self._size, self._classes = len(data.source_train), len(data.classes)
        method = find_method(config.method)
        self._stage, self._reuses_labels = method.stages[0].name, method.reuses_stage1_labels
        key = stage1_key(config, data, device)
        self._directory: Stage1Directory | None = None
        self._origin: Stage1Origin | None = None
        self._lock = ExitStack()
        self._has_lock = False
        self._joined = False
        """Whether the run has taken the labels, claimed them or found another run that makes them."""
        self._notified: set[str] = set()
        if key is not None:
            with self._sharing():
                self._directory = Stage1Directory(run.runs_dir, key)

    def prepare(self, is_stop_requested: Callable[[], bool]) -> bool:
        """Take the labels, after waiting if needed, or claim to make them; return False if a stop is requested."""
        self._joined = True
        if self._directory is None:
            return True
        if not self._reuses_labels:
            self._try_to_claim(self._directory)
            return True
        with self._sharing():
            while not self._take(self._directory):
                if self._acquire(self._directory):
                    if not self._take(self._directory):  # they may have been published just before
                        self._directory.write_origin(self._run.id)
                    break
                if is_stop_requested():
                    return False
                self._notify_once(_describe_wait(self._directory))
                time.sleep(self._poll_seconds)
        return True

    def process_event(self, event: Event) -> Event:
        """Return the event to record: labels of another run get their origin; the run's own labels are published."""
        if self._directory is None:
            return event
        if not self._joined and isinstance(event, Stepped):
            self._joined = True
            if event.stage == self._stage:
                self._try_to_claim(self._directory)
        elif isinstance(event, PseudoLabelled):
            return self._process_labels(self._directory, event)
        return event

    def _take(self, directory: Stage1Directory) -> bool:
        if stored := self._read(directory):
            self.labels, self._origin = stored[0].tolist(), stored[1]
            self.close()
        return stored is not None

    def _read(self, directory: Stage1Directory) -> "tuple[NDArray[np.int64], Stage1Origin] | None":
        try:
            return directory.read_labels(self._size, self._classes)
        except UnreadableFileError as error:
            self._notify_once(f"stage 1 is trained again: {error}")
            return None

    def _acquire(self, directory: Stage1Directory) -> bool:
        """Return whether this run holds the lock."""
        if not self._has_lock:
            try:
                self._lock.enter_context(directory.hold_lock())
            except LockHeldError:
                return False
            self._has_lock = True
        return True

    def _try_to_claim(self, directory: Stage1Directory) -> None:
        """Used by runs of GAC and resumed runs: they train their own stage 1, and others may wait for its labels."""
        with self._sharing():
            if self._read(directory) is None and self._acquire(directory):
                directory.write_origin(self._run.id)

    def _process_labels(self, directory: Stage1Directory, event: PseudoLabelled) -> PseudoLabelled:
        """Write stage1.json, with the origin of the labels and the seconds that they took, and publish own labels."""
        origin = self._origin
        run_id, seconds = (origin.run, origin.seconds) if origin else (self._run.id, event.seconds)
        fields = {"key": directory.key, "origin": run_id, "seconds": seconds}
        replace_file(self._run.stage1, msgspec.json.encode(fields) + b"\n")
        if origin:
            return msgspec.structs.replace(event, origin=run_id, origin_seconds=seconds)
        with self._sharing():
            if self._acquire(directory) and self._read(directory) is None:
                directory.publish(self._run.id, event)
        self.close()
        return event

    @contextmanager
    def _sharing(self) -> Iterator[None]:
        """Stop sharing at the first error."""
        try:
            yield
        except (OSError, InputError) as error:
            self.close()
            self._directory = None
            self._notify(f"stage 1 is not shared with other runs: {error}")

    def close(self) -> None:
        """Release the lock."""
        self._lock.close()
        self._has_lock = False

    def _notify_once(self, message: str) -> None:
        if message not in self._notified:
            self._notified.add(message)
            self._notify(message)


def _describe_wait(directory: Stage1Directory) -> str:
    origin = None
    with suppress(UnreadableFileError):
        origin = directory.read_origin()
    making = f"run {printable(origin.run)}" if origin else "another run"
    owner = read_lock_owner(directory.lock)
    process = f" (process {owner.pid} on {printable(owner.host)})" if owner else ""
    return f"waiting for stage 1 of {making}{process}"
