"""Find this user's supervisor of a runs directory, or start one."""

import signal
import sys
import threading
import time
from pathlib import Path

from clarinet_tui.queue.executor import start_detached
from clarinet_tui.queue.queue_file import is_copied, read_queue
from clarinet_tui.runs.lock import is_held_by, is_locked, read_lock_owner, seconds_since_beat
from clarinet_tui.runs.ownership import own_path
from clarinet_tui.runs.process import LockOwner, current_process, is_alive, is_same_machine
from clarinet_tui.runs.signals import signal_holder

SUPERVISOR_LOCK, SUPERVISOR_LOG = "supervisor.lock", "supervisor.log"
UNRESPONSIVE_AFTER = 30.0
"""Seconds without a heartbeat after which a supervisor is replaced."""
KILL_SECONDS = 5.0
"""Seconds for a killed process to end; one that waits for a network disk may not."""


def find_supervisor(runs_dir: Path) -> LockOwner | None:
    """Return the running supervisor."""
    lock = own_path(Path(runs_dir), SUPERVISOR_LOCK)
    owner = read_lock_owner(lock, own_file=True)
    return owner if owner is not None and is_held_by(lock, owner) is not False else None


def is_unresponsive(supervisor: LockOwner) -> bool:
    """Return whether it is alive but does nothing, such as a stopped process."""
    seconds = seconds_since_beat(supervisor)
    return seconds is not None and seconds > UNRESPONSIVE_AFTER


def queue_origin(runs_dir: Path) -> str:
    """Return where the queue belongs if that is not here: another machine, or a directory that it was copied from."""
    last = read_lock_owner(own_path(Path(runs_dir), SUPERVISOR_LOCK), own_file=True)
    if last and not is_same_machine(last, current_process()):
        return last.host
    return "another directory" if is_copied(runs_dir, read_queue(runs_dir)) else ""


def ensure_supervisor(runs_dir: Path) -> None:
    """Start a supervisor unless one is running. Of two that start at once, the second one exits."""
    runs_dir = Path(runs_dir).absolute()
    lock = own_path(runs_dir, SUPERVISOR_LOCK)
    if is_locked(lock) and not _kill_unresponsive(runs_dir, lock):
        return
    command = [sys.executable, "-P", "-m", "clarinet_tui.queue.supervisor", str(runs_dir)]
    process = start_detached(command, own_path(runs_dir, SUPERVISOR_LOG), cwd=runs_dir)
    # Without a wait, a supervisor that ends before this process would stay in the process table.
    threading.Thread(target=process.wait, name="supervisor", daemon=True).start()


def _kill_unresponsive(runs_dir: Path, lock: Path) -> bool:
    """Kill a supervisor that does nothing; its runs continue, and the next supervisor adopts them."""
    supervisor = find_supervisor(runs_dir)
    if supervisor is None or not is_unresponsive(supervisor):
        return False
    if not signal_holder(lock, supervisor, signal.SIGKILL):
        return False
    deadline = time.monotonic() + KILL_SECONDS
    while is_alive(supervisor) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not is_alive(supervisor)
