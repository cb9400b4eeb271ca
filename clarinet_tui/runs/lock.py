"""Exclusive locks on files; the process that holds one writes its identity into the file."""

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import msgspec

from clarinet_tui.forks import close_in_children
from clarinet_tui.runs.atomic_files import as_input_error
from clarinet_tui.runs.ownership import check_own_file, find_owner, user_name
from clarinet_tui.runs.process import LockOwner, boot_id, current_process, is_alive
from clarinet_tui.runs.run_files import ContentError, UnreadableFileError, open_file, parse_json
from core.errors import InputError

SHORTEST_WAIT = 0.2
"""Seconds to retry while no live owner is written in the file: `is_locked` locks it briefly."""
FIRST_PAUSE, LONGEST_PAUSE = 0.001, 0.05
UNSUPPORTED = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP})
MAX_BYTES = 65536
BEAT_INTERVAL = 1.0
"""Seconds between two heartbeats of a lock."""
_held: dict[int, LockOwner] = {}
"""Descriptors of the locks that this process holds, with what is written in them."""
close_in_children(_held)


class LockHeldError(InputError):
    """Another process holds the lock."""

    def __init__(self, name: str, holder: str) -> None:
        super().__init__(f"{name} is locked by {holder}: stop that process first")


class LocksUnsupportedError(InputError):
    """The file system has no locks, without which two processes could train one run."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path}: the file system does not support locks (flock): use a --runs-dir on another disk")


@contextmanager
def hold_lock(path: Path, name: str, *, wait: float = 0.0, private: bool = False) -> Iterator[LockOwner]:
    """Hold the lock `path`, or raise LockHeldError after `wait` seconds.

    A `private` lock cannot be opened by other users, who could otherwise lock it for ever. The file is never removed:
    a process could still lock the removed file while another process locks a new one.
    """
    file = _acquire(path, name, wait, 0o600 if private else 0o644)
    try:
        owner = current_process()
        with as_input_error(path):
            _write(file, owner)
        _held[file] = owner
        try:
            yield owner
        finally:
            owner = _held.pop(file)
            with suppress(OSError):  # an owner that is gone without a recorded release has died
                _write(file, msgspec.structs.replace(owner, released=time.time()))
    finally:
        os.close(file)


def _acquire(path: Path, name: str, wait: float, mode: int) -> int:
    """Return the descriptor of the locked file."""
    deadline, pause = time.monotonic() + max(wait, SHORTEST_WAIT), FIRST_PAUSE
    while True:
        with ExitStack() as unless_held:
            file = _open(path, mode)
            unless_held.callback(os.close, file)
            if _try_lock(file, path, fcntl.LOCK_EX):
                if _is_current(file, path):
                    unless_held.pop_all()
                    return file
            elif time.monotonic() > deadline or (not wait and _find_live_owner(path)):
                raise LockHeldError(name, _describe_holder(file, path))
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


def _open(path: Path, mode: int) -> int:
    with as_input_error(path):
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
        status = os.fstat(file)
        if status.st_mode & 0o777 & ~mode and status.st_uid == os.geteuid():  # of an older version, or of a wide umask
            os.fchmod(file, status.st_mode & mode)
    return file


def _try_lock(file: int, path: Path, operation: int) -> bool:
    try:
        fcntl.flock(file, operation | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno in UNSUPPORTED:
            raise LocksUnsupportedError(path) from error
        raise
    return True


def _is_current(file: int, path: Path) -> bool:
    """Return whether the path still refers to the open file."""
    try:
        return os.path.samestat(os.fstat(file), path.lstat())
    except OSError:
        return False


def _find_live_owner(path: Path) -> LockOwner | None:
    owner = read_lock_owner(path)
    return owner if owner is not None and is_held_by(path, owner) is not False else None


def _describe_holder(file: int, path: Path) -> str:
    """Name the process that holds the lock, also one of another user that only locks the file and writes nothing."""
    if owner := _find_live_owner(path):
        return f"process {owner.pid} on {owner.host}"
    if pid := _find_holding_pid(file):
        uid = find_owner(Path(f"/proc/{pid}"))
        return f"process {pid}" if uid is None else f"process {pid} of {user_name(uid)}"
    return "another process"


def _find_holding_pid(file: int) -> int | None:
    """Return the process that the kernel lists as holder; None where it lists none."""
    status = os.fstat(file)
    key = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    try:
        lines = Path("/proc/locks").read_text().splitlines()
    except OSError:
        return None
    holders = (line.split() for line in lines if "->" not in line)
    return next((int(fields[4]) for fields in holders if fields[1] == "FLOCK" and fields[5] == key), None)


def _write(file: int, owner: LockOwner) -> None:
    content = msgspec.json.encode(owner) + b"\n"
    os.pwrite(file, content, 0)
    os.ftruncate(file, len(content))


def read_lock_owner(path: Path, *, own_file: bool = False) -> LockOwner | None:
    """Return the current or last owner of a lock; None if there was none or the file cannot be read.

    With `own_file`, a file of another user is refused: it could name any process.
    Only the first line is read: while the file is being written, the end of an older, longer line may follow it.
    """
    try:
        file = open_file(path)
        if file is None:
            return None
        with file:
            if own_file:
                check_own_file(path, os.fstat(file.fileno()).st_uid)
            owner: LockOwner = parse_json(file.read(MAX_BYTES).partition(b"\n")[0], LockOwner)
    except (OSError, UnreadableFileError, ContentError):
        return None
    return owner


def is_locked(path: Path) -> bool:
    """Return whether a process holds the lock, on any machine that shares the file system's locks.

    False where that cannot be seen: without locks, or without the permission to open the file.
    """
    return _is_locked_by(path, None) is True


def is_held_by(path: Path, owner: LockOwner, here: LockOwner | None = None) -> bool | None:
    """Return whether the process lives and holds this very lock; None if that cannot be seen from here.

    In a copied directory, the file names a process that lives and holds the lock of the original.
    """
    return is_alive(owner, here) and _is_locked_by(path, owner.pid)


def _is_locked_by(path: Path, pid: int | None) -> bool | None:
    """Return whether this process, or any if None, holds the lock; None if that cannot be seen."""
    try:
        file = open_file(path)
    except UnreadableFileError:
        return None
    if file is None:
        return False
    with file:
        try:
            if _try_lock(file.fileno(), path, fcntl.LOCK_SH):
                return False
        except (OSError, LocksUnsupportedError):
            return None
        # A process that has just locked a copy has not replaced the name of the original's process in it yet.
        return pid is None or _find_holding_pid(file.fileno()) in (pid, None)


def keep_lock(path: Path) -> bool:
    """Write a heartbeat into a lock of this process; return False once the file is deleted, even if there is a new one.

    The heartbeat is a time of the monotonic clock, which all processes of a machine share and which never jumps.
    """
    file = next((held for held in _held if _is_current(held, path)), None)
    if file is None:
        return False
    if (now := time.monotonic()) - _held[file].beat >= BEAT_INTERVAL:
        _held[file] = msgspec.structs.replace(_held[file], beat=now)
        with suppress(OSError):  # on a full disk
            _write(file, _held[file])
    return True


def seconds_since_beat(owner: LockOwner) -> float | None:
    """Return the seconds since a live owner's last heartbeat; None if it has none, or is of another boot."""
    return max(0.0, time.monotonic() - owner.beat) if owner.beat and owner.boot == boot_id() else None
