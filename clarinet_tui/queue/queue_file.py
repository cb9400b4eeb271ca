"""queue.json: which runs wait and in which order, and which were started. Replaced whole, under a lock."""

import fcntl
import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from clarinet_tui.runs.atomic_files import replace_file, told
from core.errors import InputError

NAME, LOCK = "queue.json", "queue.lock"
VERSION = 1


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One run that waits for a device, or that was started from here and is not over."""

    id: str
    device: str = "auto"
    """What was asked for: auto, cpu, cuda:0,2 or UUIDs."""
    folder: str
    """Where the user stood: the run's own paths are relative to it."""
    data_dir: str
    priority: int = 0
    paused: bool = False
    shares: bool = False
    """Whether it may start where others compute too."""
    retries: int = 0
    """How often it may still begin again after it was lost or has failed."""
    on_alarm: tuple[str, ...] = ()
    """The words of a command for its alarms: given by the user who queued it, never by the run."""
    added: float = 0.0
    on: str = ""
    """The device that it was started on; empty while it waits."""
    begun: float = 0.0
    """When that was."""
    spoken: int = 0
    """How many bytes its journal had then: whether its worker has said a word since is told without a clock."""
    stop_within: float | None = None
    """Asked to stop, and to be killed after so many seconds."""

    @property
    def waits(self) -> bool:
        return not self.on


class Queue(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    version: int = VERSION
    paused: bool = False
    slots: dict[str, int] = {}
    """Runs at once by device: a UUID, or "gpu" and "cpu" for all of a kind. One where nothing is said."""
    entries: tuple[Entry, ...] = ()

    def __getitem__(self, run_id: str) -> Entry:
        return next(entry for entry in self.entries if entry.id == run_id)

    def __contains__(self, run_id: object) -> bool:
        return any(entry.id == run_id for entry in self.entries)

    @property
    def waiting(self) -> tuple[Entry, ...]:
        """In the order in which they will start."""
        return tuple(sorted((entry for entry in self.entries if entry.waits), key=lambda entry: -entry.priority))

    @property
    def started(self) -> tuple[Entry, ...]:
        return tuple(entry for entry in self.entries if not entry.waits)

    def slots_of(self, device: str) -> int:
        return self.slots.get(device, self.slots.get("cpu" if device == "cpu" else "gpu", 1))

    def with_entries(self, entries: Collection[Entry]) -> "Queue":
        return msgspec.structs.replace(self, entries=tuple(entries))

    def with_slots(self, slots: dict[str, int]) -> "Queue":
        return msgspec.structs.replace(self, slots=slots)

    def paused_as(self, paused: bool) -> "Queue":
        return msgspec.structs.replace(self, paused=paused)

    def change(self, ids: Collection[str], **fields: object) -> "Queue":
        """The same queue with these fields of these entries changed."""
        return self.with_entries(
            [msgspec.structs.replace(entry, **fields) if entry.id in ids else entry for entry in self.entries]
        )

    def without(self, ids: Collection[str]) -> "Queue":
        return self.with_entries([entry for entry in self.entries if entry.id not in ids])


def read_queue(runs_dir: Path) -> Queue:
    """The queue as it is now; empty where there is none."""
    path = Path(runs_dir) / NAME
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
            f"{path}: not a queue ({error}): move it away, and say `clarinet resume` for its runs"
        ) from None
    if queue.version > VERSION:
        raise InputError(f"{path}: written by a newer Clarinet (version {queue.version}): use that one")
    return queue


@contextmanager
def locked(runs_dir: Path) -> Iterator[None]:
    """Nobody else changes the queue meanwhile."""
    path = Path(runs_dir) / LOCK
    with told(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def change_queue(runs_dir: Path, edit: Callable[[Queue], Queue]) -> Queue:
    """Read, edit and replace the queue as one step; what `edit` gives back is what stands there afterwards."""
    with locked(runs_dir):
        return change_locked_queue(runs_dir, edit)


def _mode(queue: Queue) -> int:
    """A command for alarms may hold secrets, such as a hook's address: then its owner alone reads the queue."""
    return 0o600 if any(entry.on_alarm for entry in queue.entries) else 0o666


def change_locked_queue(runs_dir: Path, edit: Callable[[Queue], Queue]) -> Queue:
    """For those who hold the lock."""
    before = read_queue(runs_dir)
    after = edit(before)
    if after != before:
        path = Path(runs_dir) / NAME
        with told(path):
            replace_file(path, msgspec.json.format(msgspec.json.encode(after)) + b"\n", _mode(after))
    return after
