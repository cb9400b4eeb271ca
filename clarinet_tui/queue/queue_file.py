"""queue.json: the waiting runs in their order and the started ones. Replaced as a whole, under a lock."""

import fcntl
import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from clarinet_tui.runs.atomic_files import as_input_error, replace_file
from core.errors import InputError

QUEUE_FILE, QUEUE_LOCK = "queue.json", "queue.lock"
VERSION = 1


class QueueEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A run that waits for a device, or that the supervisor has started and that has not ended."""

    id: str
    device: str = "auto"
    """The requested device: auto, cpu, cuda:0,2 or UUIDs."""
    working_directory: str = msgspec.field(name="folder")
    """Relative paths in the run's settings start here."""
    data_dir: str
    priority: int = 0
    paused: bool = False
    share_device: bool = msgspec.field(name="shares", default=False)
    """Whether it may start on a device that other programs use."""
    retries: int = 0
    """How many more times it may restart after it was lost or has failed."""
    on_alarm: tuple[str, ...] = ()
    """The command for its alarms, of the user who queued it and never of the run's settings."""
    added_at: float = msgspec.field(name="added", default=0.0)
    device_key: str = msgspec.field(name="on", default="")
    """The device on which it was started; empty while it waits."""
    started_at: float = msgspec.field(name="begun", default=0.0)
    journal_size: int = msgspec.field(name="spoken", default=0)
    """Bytes of its journal when it was started: a longer journal shows without a clock that its worker has written."""
    stop_timeout: float | None = msgspec.field(name="stop_within", default=None)
    """Seconds from the request to stop until it is killed; None if no stop was requested."""

    @property
    def is_waiting(self) -> bool:
        return not self.device_key


class Queue(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    version: int = VERSION
    paused: bool = False
    slots: dict[str, int] = {}
    """Runs at once by device: a UUID, or "gpu" and "cpu" for all of a kind. The default is one."""
    entries: tuple[QueueEntry, ...] = ()

    def __getitem__(self, run_id: str) -> QueueEntry:
        return next(entry for entry in self.entries if entry.id == run_id)

    def __contains__(self, run_id: object) -> bool:
        return any(entry.id == run_id for entry in self.entries)

    @property
    def waiting(self) -> tuple[QueueEntry, ...]:
        """Waiting entries in starting order."""
        return tuple(sorted((entry for entry in self.entries if entry.is_waiting), key=lambda entry: -entry.priority))

    @property
    def started(self) -> tuple[QueueEntry, ...]:
        return tuple(entry for entry in self.entries if not entry.is_waiting)

    def slots_for(self, device: str) -> int:
        return self.slots.get(device, self.slots.get("cpu" if device == "cpu" else "gpu", 1))

    def with_entries(self, entries: Collection[QueueEntry]) -> "Queue":
        return msgspec.structs.replace(self, entries=tuple(entries))

    def with_slots(self, slots: dict[str, int]) -> "Queue":
        return msgspec.structs.replace(self, slots=slots)

    def with_paused(self, paused: bool) -> "Queue":
        return msgspec.structs.replace(self, paused=paused)

    def with_changes(self, ids: Collection[str], **fields: object) -> "Queue":
        """Return the queue with these fields of these entries changed."""
        return self.with_entries(
            [msgspec.structs.replace(entry, **fields) if entry.id in ids else entry for entry in self.entries]
        )

    def without(self, ids: Collection[str]) -> "Queue":
        return self.with_entries([entry for entry in self.entries if entry.id not in ids])


def read_queue(runs_dir: Path) -> Queue:
    """Return the queue; an empty one if there is no file."""
    path = Path(runs_dir) / QUEUE_FILE
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return Queue()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    try:
        queue = msgspec.json.decode(content, type=Queue)
    except msgspec.DecodeError as error:
        raise InputError(
            f"{path}: not a queue ({error}): move the file away and run `clarinet resume` for its runs"
        ) from None
    if queue.version > VERSION:
        raise InputError(
            f"{path}: written by a newer version of Clarinet (queue version {queue.version}): update Clarinet"
        )
    return queue


@contextmanager
def lock_queue(runs_dir: Path) -> Iterator[None]:
    """Hold the queue's lock: no other process changes the queue meanwhile."""
    path = Path(runs_dir) / QUEUE_LOCK
    with as_input_error(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def update_queue(runs_dir: Path, edit: Callable[[Queue], Queue]) -> Queue:
    """Read, edit and replace the queue in one transaction; return the edited queue."""
    with lock_queue(runs_dir):
        before = read_queue(runs_dir)
        after = edit(before)
        if after != before:
            path = Path(runs_dir) / QUEUE_FILE
            # Alarm commands can contain secrets, such as a webhook's address.
            mode = 0o600 if any(entry.on_alarm for entry in after.entries) else 0o666
            with as_input_error(path):
                replace_file(path, msgspec.json.format(msgspec.json.encode(after)) + b"\n", mode)
        return after
