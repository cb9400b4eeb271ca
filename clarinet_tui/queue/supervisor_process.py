"""Find the supervisor of a runs directory, or start one."""

import sys
from pathlib import Path

from clarinet_tui.queue.executor import start_detached
from clarinet_tui.runs.lock import is_locked, read_lock_owner
from clarinet_tui.runs.process import LockOwner, current_process, is_alive

SUPERVISOR_LOCK, SUPERVISOR_LOG = "supervisor.lock", "supervisor.log"


def find_supervisor(runs_dir: Path) -> LockOwner | None:
    """Return the running supervisor, without touching its lock."""
    owner = read_lock_owner(Path(runs_dir) / SUPERVISOR_LOCK)
    return owner if owner is not None and is_alive(owner) is not False else None


def other_supervisor_host(runs_dir: Path) -> str:
    """Return the host of the last supervisor if that is another machine, else an empty string."""
    last, here = read_lock_owner(Path(runs_dir) / SUPERVISOR_LOCK), current_process()
    return last.host if last and (last.host, last.machine) != (here.host, here.machine) else ""


def ensure_supervisor(runs_dir: Path) -> None:
    """Start a supervisor unless the lock is held. Of two that start at once, the second one exits."""
    runs_dir = Path(runs_dir).absolute()
    if not is_locked(runs_dir / SUPERVISOR_LOCK):
        command = [sys.executable, "-P", "-m", "clarinet_tui.queue.supervisor", str(runs_dir)]
        start_detached(command, runs_dir / SUPERVISOR_LOG, cwd=runs_dir)
