"""Identify a process across reused pids, reboots, containers and machines."""

import os
import socket
import time
from pathlib import Path

import msgspec

SILENT_AFTER = 600.0
"""Seconds without a journal line after which a run on another machine counts as silent."""


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
    pid = os.getpid()
    return LockOwner(
        host=host_name(),
        pid=pid,
        start=process_start(pid) or 0.0,
        machine=_read_stripped("/etc/machine-id"),
        boot=boot_id(),
        namespace=_namespace(),
        since=time.time(),
    )


def host_name() -> str:
    return socket.gethostname()


def is_batch_job() -> bool:
    """Return whether this process belongs to a job of Slurm or to a pod of Kubernetes."""
    return "SLURM_JOB_ID" in os.environ or "KUBERNETES_SERVICE_HOST" in os.environ


def boot_id() -> str:
    """Return an id that changes with each boot: Linux's own, elsewhere the boot time in seconds."""
    linux_id = _read_stripped("/proc/sys/kernel/random/boot_id")
    if linux_id:
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
    return None if start is None and _is_hidden(owner.pid) else start == owner.start


def _is_hidden(pid: int) -> bool:
    """Return whether there is such a process of another user, which /proc does not show (its mount option hidepid)."""
    if Path(f"/proc/{pid}").exists():
        return False
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return False


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
        return _portable_start(pid)
    try:
        # The command's name may contain spaces and parentheses, so fields are counted from its end.
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    state, start = fields[0], fields[19]
    return None if state in b"ZX" else float(start)


def _portable_start(pid: int) -> float | None:
    import psutil

    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else process.create_time()
    except psutil.Error:
        return None


def _namespace() -> str:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def _read_stripped(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""
