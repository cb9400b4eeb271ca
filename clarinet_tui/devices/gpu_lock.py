"""Locks of GPUs, in a folder that all users of the machine share: runs that start together take different GPUs.

A worker holds a lock from before torch is loaded until it ends. Every holder locks a file of its own (flock), which
names the process: a file that a killed process has left is not locked and blocks nothing.
"""

import fcntl
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace

import msgspec

from clarinet_tui.devices.device import Device, DeviceProcess
from clarinet_tui.forks import close_in_children
from clarinet_tui.text import printable
from core.errors import InputError

FOLDER, FOLDER_VARIABLE = "/tmp/clarinet-gpus", "CLARINET_GPU_LOCKS"
"""Not the folder of TMPDIR, which may differ between users."""
GATE_SECONDS = 10.0
"""How long a process waits for the folder's own lock, which is held only while the locks in it are looked at."""
_held: set[int] = set()
"""Descriptors of the locks that this process holds."""
close_in_children(_held)


class GpuHolder(msgspec.Struct, frozen=True, kw_only=True):
    """A run on a GPU, as its lock file names it; any user may have written it."""

    pid: int
    user: str
    run: str
    group: str = ""
    """The queue that started the run, and that counts its slots; empty for a run that was not queued."""


class GpuInUseError(InputError):
    """Other runs hold the locks of all GPUs that the run may use."""


@contextmanager
def hold_gpu(
    keys: Sequence[str],
    run: str,
    *,
    group: str = "",
    share: bool = False,
    notify: Callable[[str], None] = lambda message: None,
) -> Iterator[str]:
    """Hold the lock of the first of these GPUs that is free, and yield its key; raise GpuInUseError if none is.

    Runs of one group may hold the same GPU, and with `share` the first one is held if none is free. If the folder
    cannot be used, `notify` gets a message, and the run starts on the first GPU without a lock.
    """
    import psutil

    folder = os.environ.get(FOLDER_VARIABLE) or FOLDER
    with ExitStack() as stack:
        try:
            with suppress(FileExistsError):  # every user can add files and remove only their own
                os.mkdir(folder)  # noqa: PTH102
                os.chmod(folder, 0o1777)  # noqa: PTH101  whatever the umask is
            directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            stack.callback(os.close, directory)
            holder = GpuHolder(pid=os.getpid(), user=psutil.Process().username(), run=run, group=group)
            with _gate(directory):
                key = _choose(directory, keys, holder, share)
                stack.enter_context(_hold_file(directory, key, holder))
        except OSError as error:
            notify(f"{folder}: {error.strerror or error}: runs of other users may start on the same GPU")
            key = keys[0]
        yield key


def _choose(directory: int, keys: Sequence[str], holder: GpuHolder, share: bool) -> str:
    reasons = []
    for key in keys:
        holders = _read_holders(directory, key, tidy=True)
        other = next((other for other in holders if not holder.group or other.group != holder.group), None)
        if other is None:
            return key
        reasons.append(f"{key} is in use by run {other.run} of {other.user} (process {other.pid})")
    if share:
        return keys[0]
    raise GpuInUseError(f"device: {printable('; '.join(reasons))}")


def _file_name(key: str) -> str:
    return re.sub(r"[^A-Za-z0-9-]", "_", key)[:120]


@contextmanager
def _gate(directory: int) -> Iterator[None]:
    """Let one process at a time look at the locks in the folder and add its own."""
    deadline = time.monotonic() + GATE_SECONDS
    while True:
        try:
            fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(0.01)
    try:
        yield
    finally:
        fcntl.flock(directory, fcntl.LOCK_UN)


@contextmanager
def _hold_file(directory: int, key: str, holder: GpuHolder) -> Iterator[None]:
    lock = f"{_file_name(key)}.{secrets.token_hex(8)}.lock"
    file = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644, dir_fd=directory)
    try:
        os.fchmod(file, 0o644)  # readable for all users, whatever the umask is
        fcntl.flock(file, fcntl.LOCK_EX)
        os.write(file, msgspec.json.encode(holder))
        _held.add(file)
        yield
    finally:
        _held.discard(file)
        with suppress(FileNotFoundError):  # removed by a cleaner of /tmp
            os.unlink(lock, dir_fd=directory)
        os.close(file)


def _read_holders(directory: int, key: str, *, tidy: bool = False) -> list[GpuHolder]:
    """Return the live holders of a GPU; `tidy` removes what dead ones have left."""
    holders, name = [], _file_name(key)
    for lock in sorted(os.listdir(directory)):
        if lock.startswith(f"{name}.") and lock.endswith(".lock"):
            holder = _read_holder(directory, lock)
            if holder is not None:
                holders.append(holder)
            elif tidy:
                with suppress(OSError):  # of another user
                    os.unlink(lock, dir_fd=directory)
    return holders


def _read_holder(directory: int, lock: str) -> GpuHolder | None:
    """Return None if no process holds the lock."""
    try:
        file = os.open(lock, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory)
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return None
    except BlockingIOError:
        try:
            return msgspec.json.decode(os.pread(file, 65536, 0), type=GpuHolder)
        except msgspec.DecodeError:
            return GpuHolder(pid=0, user="?", run="?")
    finally:
        os.close(file)


def with_lock_holders(gpus: Sequence[Device]) -> list[Device]:
    """Return the GPUs with the holders of their locks among their processes: a run appears before it uses its GPU."""
    try:
        directory = os.open(os.environ.get(FOLDER_VARIABLE) or FOLDER, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return list(gpus)
    found = []
    try:
        for gpu in gpus:
            listed = {process.pid for process in gpu.processes or () if process.computes}
            added = [
                DeviceProcess(pid=holder.pid, owner=holder.user, command=f"run {holder.run}")
                for holder in _read_holders(directory, gpu.key)
                if holder.pid not in listed
            ]
            found.append(replace(gpu, processes=(*(gpu.processes or ()), *added)) if added else gpu)
    finally:
        os.close(directory)
    return found
