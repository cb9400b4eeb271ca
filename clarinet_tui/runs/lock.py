"""Exclusive locks on files; the process that holds one writes its identity into the file."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from clarinet_tui.runs.atomic_files import as_input_error
from clarinet_tui.runs.process import LockOwner, current_process, is_alive
from core.errors import InputError

TRIES, PAUSE = 20, 0.01
_held: set[int] = set()
"""Descriptors of the locks that this process holds."""


class LockHeldError(InputError):
    """Another process holds the lock."""

    def __init__(self, name: str, owner: LockOwner | None) -> None:
        process = f"process {owner.pid} on {owner.host}" if owner else "another process"
        super().__init__(f"{name} is locked by {process}: stop that process first")


def _close_in_child() -> None:
    """Close held locks in a forked child, so that they do not outlive the parent."""
    for file in _held:
        os.close(file)
    _held.clear()


os.register_at_fork(after_in_child=_close_in_child)


@contextmanager
def hold_lock(path: Path, name: str) -> Iterator[LockOwner]:
    """Hold the lock `path`, or raise LockHeldError.

    The file is never removed: a process could still lock the removed file while another process locks a new one.
    """
    with as_input_error(path):
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        if not _acquire(file, path):
            raise LockHeldError(name, read_lock_owner(path))
        owner = current_process()
        with as_input_error(path):
            _write(file, owner)
        _held.add(file)
        try:
            yield owner
        finally:
            _held.discard(file)
            with suppress(OSError):  # an owner that is gone without a recorded release has died
                _write(file, msgspec.structs.replace(owner, released=time.time()))
    finally:
        os.close(file)


def _acquire(file: int, path: Path) -> bool:
    """Retry for a moment while no live owner is written in the file: `is_locked` locks it briefly."""
    with as_input_error(path):
        for _ in range(TRIES):
            with suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            owner = read_lock_owner(path)
            if owner is not None and is_alive(owner) is not False:
                return False
            time.sleep(PAUSE)
    return False


def _write(file: int, owner: LockOwner) -> None:
    content = msgspec.json.encode(owner) + b"\n"
    os.pwrite(file, content, 0)
    os.ftruncate(file, len(content))


def read_lock_owner(path: Path) -> LockOwner | None:
    """Return the current or last owner of a lock; None if there was none or the file cannot be read.

    Only the first line is read: while the file is being written, the end of an older, longer line may follow it.
    """
    try:
        return msgspec.json.decode(path.read_bytes()[:65536].partition(b"\n")[0], type=LockOwner)
    except (OSError, msgspec.DecodeError):
        return None


def is_locked(path: Path) -> bool:
    """Return whether a process holds the lock, on any machine that shares the file system's locks."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(file)


def is_held_here(path: Path) -> bool:
    """Return whether this process holds the lock; False once the file is deleted, even if there is a new one."""
    try:
        current = path.stat()
    except OSError:
        return False
    return any(os.path.samestat(os.fstat(file), current) for file in _held)
