"""queue.json: the waiting runs in their order and the started ones. Replaced as a whole, under a lock.

Each user of a runs directory has a queue. Those of other users are data: their runs are shown and never started.
"""

import os
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from pathlib import Path

import msgspec

from clarinet_tui.place import LaunchOptions
from clarinet_tui.runs.directory import RunDirectory, find_local_worker, is_valid_id
from clarinet_tui.runs.files import (
    MAX_JSON_BYTES,
    ContentError,
    UnreadableFileError,
    as_input_error,
    file_size,
    open_file,
    parse_json,
)
from clarinet_tui.runs.lock import hold_lock, read_lock_owner
from clarinet_tui.runs.ownership import check_own_file, directory_id, find_owner, list_paths, own_path, user_name
from core.errors import InputError
from core.files import replace_file

QUEUE_FILE, QUEUE_LOCK = "queue.json", "queue.lock"
VERSION = 2
LOCK_SECONDS = 30.0
"""How long a change waits for the queue's lock, which is held for moments."""


class QueueEntry(LaunchOptions, frozen=True, kw_only=True, omit_defaults=True):
    """A run that waits for a device, or that the supervisor has started and that has not ended."""

    id: str
    device: str = "auto"
    """The requested device: auto, cpu, cuda:0,2 or UUIDs."""
    added_at: float = 0.0
    device_key: str = ""
    """The device on which it was started; empty while it waits."""
    started_at: float = 0.0
    journal_size: int = 0
    """Bytes of its journal when it was started: a longer journal shows without a clock that its worker has written."""
    stop_timeout: float | None = None
    """Seconds from the request to stop until it is killed; None if no stop was requested."""
    user: str = ""
    """The user who queued it, if that is another one; set when the queues of all users are read."""

    @property
    def is_waiting(self) -> bool:
        return not self.device_key


class Queue(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    version: int = VERSION
    paused: bool = False
    slots: dict[str, int] = {}
    """Runs at once by device: a UUID, or "gpu" and "cpu" for all of a kind. The default is one."""
    failed_devices: tuple[str, ...] = ()
    """GPUs whose last run was lost or has failed: they are used last."""
    entries: tuple[QueueEntry, ...] = ()
    directory: int = 0
    """The inode of the runs directory in which it was written: a copy of the queue starts nothing by itself."""

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

    def with_outcome(self, device_key: str, failed: bool) -> "Queue":
        """Return the queue that remembers whether the last run of a GPU has failed."""
        others = tuple(key for key in self.failed_devices if key != device_key)
        failed_devices = (*others, device_key) if failed and device_key != "cpu" else others
        return msgspec.structs.replace(self, failed_devices=failed_devices)

    def without(self, ids: Collection[str]) -> "Queue":
        return self.with_entries([entry for entry in self.entries if entry.id not in ids])


def read_queue(runs_dir: Path) -> Queue:
    """Return this user's queue; an empty one if there is no file."""
    path = own_path(Path(runs_dir), QUEUE_FILE)
    try:
        stored = _read_file(path)
    except UnreadableFileError as error:
        raise InputError(f"{error}: move the file away and run `clarinet resume` for its runs") from None
    if stored is None:
        return Queue()
    queue, status = stored
    check_own_file(path, status.st_uid)
    if queue.version > VERSION:
        raise InputError(
            f"{path}: written by a newer version of Clarinet (queue version {queue.version}): update Clarinet"
        )
    is_trusted = not status.st_mode & 0o022 and not is_copied(runs_dir, queue)  # no other user can write it
    return queue if is_trusted else queue.with_changes([entry.id for entry in queue.entries], on_alarm=(), on_end=())


def read_all_queues(runs_dir: Path) -> Queue:
    """Return this user's queue with the entries of all users, as far as their files can be read; others' are marked."""
    queue, own = read_queue(runs_dir), own_path(Path(runs_dir), QUEUE_FILE)
    entries = {entry.id: entry for entry in queue.entries}
    for path in list_paths(Path(runs_dir), QUEUE_FILE):
        try:
            stored = None if path == own else _read_file(path)
        except UnreadableFileError:
            continue
        if stored is not None:
            theirs, uid = stored[0].entries, stored[1].st_uid
            for entry in theirs:  # only those whose runs are theirs
                folder = Path(runs_dir) / entry.id
                if entry.id not in entries and is_valid_id(entry.id) and folder.is_dir() and find_owner(folder) == uid:
                    entries[entry.id] = msgspec.structs.replace(entry, user=user_name(uid), on_alarm=(), on_end=())
    return queue.with_entries(entries.values())


def only_schedulable(queue: Queue, runs_dir: Path) -> Queue:
    """Return the queue without other users' entries, except runs that train on this machine now and so use slots."""
    return queue.with_entries(
        [
            entry
            for entry in queue.entries
            if not entry.user or (not entry.is_waiting and find_local_worker(RunDirectory(runs_dir, entry.id)))
        ]
    )


def is_copied(runs_dir: Path, queue: Queue) -> bool:
    """Return whether the queue was written in another directory, or by a version that did not record where."""
    return bool(queue.entries) and queue.directory != directory_id(runs_dir)


def _read_file(path: Path) -> tuple[Queue, os.stat_result] | None:
    """Return a queue and its file's status; None if there is no file."""
    file = open_file(path)
    if file is None:
        return None
    with file:
        content, status = file.read(MAX_JSON_BYTES + 1), os.fstat(file.fileno())
    if len(content) > MAX_JSON_BYTES:
        raise UnreadableFileError(path, "is too large for a queue")
    try:
        return parse_json(content, Queue), status
    except ContentError as error:
        is_old = b'"folder":' in content
        raise UnreadableFileError(path, "written by Clarinet 0.2" if is_old else f"not a queue ({error})") from None


def lock_queue(runs_dir: Path, wait: float = LOCK_SECONDS) -> AbstractContextManager[object]:
    """Hold the queue's lock: no other process of this user changes the queue meanwhile."""
    with as_input_error(Path(runs_dir)):
        Path(runs_dir).mkdir(parents=True, exist_ok=True)
    return hold_lock(own_path(Path(runs_dir), QUEUE_LOCK), "the queue", wait=wait, private=True)


def update_queue(
    runs_dir: Path, edit: Callable[[Queue], Queue], *, wait: float = LOCK_SECONDS, adopt: bool = False
) -> Queue:
    """Read, edit and replace the queue in one transaction; return the edited queue.

    With `adopt`, a queue that was copied from another directory belongs to this one from now on.
    """
    with lock_queue(runs_dir, wait):
        before = read_queue(runs_dir)
        after, copied = edit(before), is_copied(runs_dir, before)
        if after == before and not (adopt and copied):
            return after
        directory = before.directory if copied and not adopt else directory_id(runs_dir)
        after = msgspec.structs.replace(after, directory=directory)
        path = own_path(Path(runs_dir), QUEUE_FILE)
        # The commands of hooks can contain secrets, such as a webhook's address.
        mode = 0o600 if any(entry.on_alarm or entry.on_end for entry in after.entries) else 0o644
        with as_input_error(path):
            replace_file(path, msgspec.json.format(msgspec.json.encode(after)) + b"\n", mode)
        return after


def has_written(run: RunDirectory, entry: QueueEntry) -> bool:
    """Return whether the journal has grown since the run was started."""
    return file_size(run.journal) > entry.journal_size


def never_started(run: RunDirectory, entry: QueueEntry) -> bool:
    """Return whether no worker has held the run's lock since it was to start: the supervisor died in between."""
    owner = read_lock_owner(run.lock)
    return not has_written(run, entry) and (owner is None or owner.since < entry.started_at)
