"""A lock held for life by one process, which writes into it who it is."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from clarinet_tui.runs.atomic_files import told
from clarinet_tui.runs.process import Holder, alive, myself
from core.errors import InputError

TRIES, MOMENT = 20, 0.01
_held: set[int] = set()


def _let_go_in_child() -> None:
    """A forked child must not keep the lock when its parent dies."""
    for file in _held:
        os.close(file)
    _held.clear()


os.register_at_fork(after_in_child=_let_go_in_child)


@contextmanager
def hold(path: Path, what: str) -> Iterator[Holder]:
    """Hold `path`, or say who does. The file stays: to remove it would let two hold two files of one name."""
    with told(path):
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        if not _taken(file, path):
            raise InputError(f"{what} is in the hands of {_described(path)}: stop that one first")
        yield from _held_by_me(file, path)
    finally:
        os.close(file)


def _taken(file: int, path: Path) -> bool:
    """Who only asks whether a lock is held takes it for a moment, and is no holder: so it is tried for a moment."""
    with told(path):
        for _ in range(TRIES):
            with suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            holder = read_holder(path)
            if holder is not None and alive(holder) is not False:
                return False
            time.sleep(MOMENT)
    return False


def _held_by_me(file: int, path: Path) -> Iterator[Holder]:
    """A lock that is given back says so: a holder that is gone without that has died."""
    me = myself()
    with told(path):
        _write(file, me)
    _held.add(file)
    try:
        yield me
    finally:
        _held.discard(file)
        with suppress(OSError):
            _write(file, msgspec.structs.replace(me, released=time.time()))


def _write(file: int, holder: Holder) -> None:
    content = msgspec.json.encode(holder) + b"\n"
    os.pwrite(file, content, 0)
    os.ftruncate(file, len(content))


def read_holder(path: Path) -> Holder | None:
    """Who holds the lock or held it last; None if nobody did, or if it cannot be read.

    The first line only: while a shorter name is written over a longer one, the longer one's end stands behind it.
    """
    try:
        return msgspec.json.decode(path.read_bytes()[:65536].partition(b"\n")[0], type=Holder)
    except (OSError, msgspec.DecodeError):
        return None


def is_held(path: Path) -> bool:
    """Whether anybody holds the lock, on whichever machine, as far as the file system knows."""
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


def still_mine(path: Path) -> bool:
    """Whether the file of this name is one that this process holds: a directory may be deleted and made anew."""
    try:
        now = path.stat()
    except OSError:
        return False
    return any(os.path.samestat(os.fstat(file), now) for file in _held)


def _described(path: Path) -> str:
    holder = read_holder(path)
    return f"process {holder.pid} on {holder.host}" if holder else "another process"
