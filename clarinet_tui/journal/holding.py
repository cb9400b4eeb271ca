"""A lock held for life by one process, which writes into it who it is."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from clarinet_tui.journal.files import told
from clarinet_tui.journal.process import Holder, myself
from core.errors import InputError

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
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"{what} is in the hands of {_described(path)}: stop that one first") from None
        yield from _held_by_me(file, path)
    finally:
        os.close(file)


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
    """Who holds the lock or held it last; None if nobody did, or if it cannot be read."""
    try:
        return msgspec.json.decode(path.read_bytes()[:65536], type=Holder)
    except (OSError, msgspec.DecodeError):
        return None


def _described(path: Path) -> str:
    """The holder takes the lock before it writes its name: give it a moment."""
    for _ in range(20):
        if holder := read_holder(path):
            return f"process {holder.pid} on {holder.host}"
        time.sleep(0.01)
    return "another process"
