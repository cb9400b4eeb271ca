"""Who holds a run: a process told apart from every other one, reused pids and other machines included."""

import os
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from core.errors import InputError

SILENT_AFTER = 600.0
"""Seconds without a journal line until a run of another machine is called silent."""


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """One process of one boot of one machine."""

    host: str
    pid: int
    start: float
    """When the process began, in a clock that does not jump: ticks since boot on Linux."""
    machine: str = ""
    boot: str = ""
    namespace: str = ""
    """Of process ids: containers may share a host's name and boot, and count their own pids."""
    since: float = 0.0
    released: float | None = None
    """Unix times: when the lock was taken, and when it was given back in good order."""


def myself() -> Holder:
    pid = os.getpid()
    return Holder(
        host=host_name(),
        pid=pid,
        start=process_start(pid) or 0.0,
        machine=_first_line("/etc/machine-id"),
        boot=boot_id(),
        namespace=_namespace(),
        since=time.time(),
    )


def host_name() -> str:
    return socket.gethostname()


def boot_id() -> str:
    """Different after each start of the machine; without Linux's own, the second of the boot."""
    found = _first_line("/proc/sys/kernel/random/boot_id")
    if found:
        return found
    import psutil

    return str(int(psutil.boot_time()))


def alive(holder: Holder, here: Holder | None = None) -> bool | None:
    """Whether the process still holds what it held; None where that cannot be seen from here."""
    if holder.released is not None:
        return False
    here = here or myself()
    if holder.host != here.host or holder.machine != here.machine:
        return None
    if holder.boot != here.boot:
        # Without a machine id, another machine may only have the same name.
        return False if holder.machine else None
    if holder.namespace != here.namespace:
        return None
    return process_start(holder.pid) == holder.start


def send_signal(holder: Holder, number: signal.Signals) -> bool:
    """Signal the very process that holds, never one that has got its pid since; whether it was there."""
    return _signal(holder, number, lambda: True)


def ask_to_stop(holder: Holder) -> bool:
    """SIGTERM, once: a second one would end a worker while it saves itself. Whether it was sent now.

    A worker stops listening for it when it has heard it, and one that has just begun does not listen yet: so whoever
    has not been heard asks again, be it another process than the one that asked before.
    """
    return _signal(holder, signal.SIGTERM, lambda: listens(holder.pid, signal.SIGTERM))


def listens(pid: int, number: signal.Signals) -> bool:
    """Whether the process has a handler for the signal; taken for granted where that cannot be seen."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(errors="replace")
    except OSError:
        return True
    caught = next((line for line in status.splitlines() if line.startswith("SigCgt:")), None)
    return caught is None or bool(int(caught.split()[1], 16) >> (number - 1) & 1)


def _signal(holder: Holder, number: signal.Signals, wanted: Callable[[], bool]) -> bool:
    if not alive(holder):
        return False
    try:
        file = os.pidfd_open(holder.pid) if hasattr(os, "pidfd_open") else None
    except ProcessLookupError:
        return False
    try:
        # What the descriptor names cannot be exchanged any more; so it is asked again who that is.
        if not alive(holder) or not wanted():
            return False
        if file is None:
            os.kill(holder.pid, number)
        else:
            signal.pidfd_send_signal(file, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        raise InputError(f"process {holder.pid} on {holder.host} belongs to somebody else, who may stop it") from None
    finally:
        if file is not None:
            os.close(file)
    return True


def process_start(pid: int) -> float | None:
    """When the process began, or None if it is gone or a zombie."""
    stat = Path(f"/proc/{pid}/stat")
    if not Path("/proc/self/stat").exists():
        return _portable_start(pid)
    try:
        # The command's name may hold spaces and parentheses, so fields are counted from its end.
        fields = stat.read_bytes().rpartition(b")")[2].split()
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


def _first_line(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""
