"""Exclusive locks on files. The process that holds one writes its identity into it, and can be found and signalled.

The identity is valid across reused pids, reboots, containers and machines.
"""

import errno
import fcntl
import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import msgspec

from clarinet_tui.forks import close_in_children
from clarinet_tui.runs.files import ContentError, UnreadableFileError, as_input_error, open_file, parse_json
from clarinet_tui.runs.ownership import check_own_file, find_owner, user_name
from core.errors import InputError

SHORTEST_WAIT = 0.2
"""Seconds to retry while no live owner is written in the file: `is_locked` locks it briefly."""
FIRST_PAUSE, LONGEST_PAUSE = 0.001, 0.05
UNSUPPORTED = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP})
MAX_BYTES = 65536


class LockOwner(msgspec.Struct, frozen=True, kw_only=True):
    """A process that holds or held a lock, as it is stored in the lock file."""

    host: str
    pid: int
    start: float
    """When the process started: ticks since boot on Linux, Unix time elsewhere."""
    machine: str = ""
    boot: str = ""
    namespace: str = ""
    """The pid namespace: containers on one host count their own pids."""
    since: float = 0.0
    released: float | None = None
    """Unix times at which the lock was acquired and released."""
    beat: float = 0.0
    """The owner's last heartbeat, by the monotonic clock; zero for a lock without one."""


def current_process() -> LockOwner:
    pid, namespace = os.getpid(), ""
    with suppress(OSError):
        namespace = str(Path("/proc/self/ns/pid").readlink())
    return LockOwner(
        host=host_name(),
        pid=pid,
        start=process_start(pid) or 0.0,
        machine=_read_text("/etc/machine-id").strip(),
        boot=boot_id(),
        namespace=namespace,
        since=time.time(),
    )


def host_name() -> str:
    return socket.gethostname()


def is_batch_job() -> bool:
    """Return whether this process belongs to a job of Slurm or to a pod of Kubernetes."""
    return "SLURM_JOB_ID" in os.environ or "KUBERNETES_SERVICE_HOST" in os.environ


def boot_id() -> str:
    """Return an id that changes with each boot: Linux's own, elsewhere the boot time in seconds."""
    if linux_id := _read_text("/proc/sys/kernel/random/boot_id").strip():
        return linux_id
    import psutil

    return str(int(psutil.boot_time()))


def is_alive(owner: LockOwner, here: LockOwner | None = None) -> bool | None:
    """Return whether the process lives and has not released its lock; None if that cannot be seen from here."""
    if owner.released is not None:
        return False
    here = here or current_process()
    if not is_same_machine(owner, here):
        return None
    if owner.boot != here.boot:
        return False
    if owner.namespace != here.namespace:
        return None
    start = process_start(owner.pid)
    if start is None and not Path(f"/proc/{owner.pid}").exists():
        try:
            os.kill(owner.pid, 0)
        except PermissionError:  # a process of another user, which /proc does not show (its mount option hidepid)
            return None
        except (OSError, OverflowError):
            return False
    return start == owner.start


def is_same_machine(one: LockOwner, other: LockOwner) -> bool:
    """Return whether two processes ran on one machine, whatever its name was.

    A boot id is unique. After a restart the machine id decides, but only with the name: machines that were installed
    from one image may share their machine id.
    """
    if one.boot and one.boot == other.boot:
        return True
    return bool(one.machine) and (one.machine, one.host) == (other.machine, other.host)


def process_start(pid: int) -> float | None:
    """Return when the process started, or None if it is gone or a zombie."""
    if not Path("/proc/self/stat").exists():
        import psutil

        try:
            process = psutil.Process(pid)
            return None if process.status() == psutil.STATUS_ZOMBIE else process.create_time()
        except psutil.Error:
            return None
    try:
        # The command's name may contain spaces and parentheses, so fields are counted from its end.
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    state, start = fields[0], fields[19]
    return None if state in b"ZX" else float(start)


def _read_text(path: str) -> str:
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""


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
            elif time.monotonic() > deadline or (not wait and find_holder(path)):
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


def find_holder(path: Path, *, own_file: bool = False) -> LockOwner | None:
    """Return the process that holds the lock, or may hold it on another machine; see `read_lock_owner`."""
    owner = read_lock_owner(path, own_file=own_file)
    return owner if owner is not None and is_held_by(path, owner) is not False else None


def _describe_holder(file: int, path: Path) -> str:
    """Name the process that holds the lock, also one of another user that only locks the file and writes nothing."""
    if owner := find_holder(path):
        return f"process {owner.pid} on {owner.host}"
    if pid := _find_holding_pid(file):
        uid = find_owner(Path(f"/proc/{pid}"))
        return f"process {pid}" if uid is None else f"process {pid} of {user_name(uid)}"
    return "another process"


def _find_holding_pid(file: int) -> int | None:
    """Return the process that the kernel lists as holder; None where it lists none."""
    status = os.fstat(file)
    key = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    holders = (line.split() for line in _read_text("/proc/locks").splitlines() if "->" not in line)
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
    with suppress(OSError, UnreadableFileError, ContentError):
        if file := open_file(path):
            with file:
                if own_file:
                    check_own_file(path, os.fstat(file.fileno()).st_uid)
                owner: LockOwner = parse_json(file.read(MAX_BYTES).partition(b"\n")[0], LockOwner)
                return owner
    return None


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
    if (now := time.monotonic()) - _held[file].beat >= 1.0:
        _held[file] = msgspec.structs.replace(_held[file], beat=now)
        with suppress(OSError):  # on a full disk
            _write(file, _held[file])
    return True


def request_stop(lock: Path, owner: LockOwner) -> bool:
    """Send SIGTERM unless one was received already; return whether it was sent.

    A second SIGTERM would end a worker while it saves its checkpoint. A worker removes its handler when the first one
    arrives, and has none before it has started up: without a handler nothing is sent, and the caller may try again.
    """
    return signal_holder(lock, owner, signal.SIGTERM, only_if_handled=True)


def signal_holder(lock: Path, owner: LockOwner, number: signal.Signals, *, only_if_handled: bool = False) -> bool:
    """Send a signal to this very process, if it holds this very lock; return whether it was sent.

    It is not sent to another process with its pid, and not through the lock file of a copied directory.
    """
    if not is_held_by(lock, owner):
        return False
    try:
        file = os.pidfd_open(owner.pid) if hasattr(os, "pidfd_open") else None
    except ProcessLookupError:
        return False
    try:
        # The pid may have been reused before pidfd_open, but not after it: so the identity is checked again.
        if not is_held_by(lock, owner) or (only_if_handled and not handles_signal(owner.pid, number)):
            return False
        if file is None:
            os.kill(owner.pid, number)
        else:
            signal.pidfd_send_signal(file, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        process = f"process {owner.pid} on {owner.host}"
        raise InputError(f"{process} belongs to another user: only they can stop it") from None
    finally:
        if file is not None:
            os.close(file)
    return True


def handles_signal(pid: int, number: signal.Signals) -> bool:
    """Return whether the process has a handler for the signal; True where that cannot be seen."""
    status = _read_text(f"/proc/{pid}/status").splitlines()
    caught = next((line for line in status if line.startswith("SigCgt:")), None)
    return caught is None or bool(int(caught.split()[1], 16) >> (number - 1) & 1)
