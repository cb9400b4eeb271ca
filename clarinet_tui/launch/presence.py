"""Whether a supervisor is there, and one where there is none."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

from clarinet_tui.journal.files import open_append
from clarinet_tui.journal.holding import read_holder
from clarinet_tui.journal.process import Holder, alive

SUPERVISOR_LOCK, SUPERVISOR_LOG = "supervisor.lock", "supervisor.log"


def supervisor(runs_dir: Path) -> Holder | None:
    """Who feeds the queue now, for those who only look."""
    holder = read_holder(Path(runs_dir) / SUPERVISOR_LOCK)
    return holder if holder is not None and alive(holder) is not False else None


def ensure_supervisor(runs_dir: Path) -> None:
    """Start one unless the lock is held. Of two that are started at once, the second goes away by itself."""
    runs_dir = Path(runs_dir).absolute()
    if _is_held(runs_dir / SUPERVISOR_LOCK):
        return
    log = open_append(runs_dir / SUPERVISOR_LOG, 0o600)
    try:
        subprocess.Popen(
            [sys.executable, "-P", "-m", "clarinet_tui.launch.supervisor", str(runs_dir)],
            cwd=runs_dir,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    finally:
        os.close(log)


def _is_held(path: Path) -> bool:
    """Whoever asks takes the lock for a moment, which may turn a starting supervisor away; so it starts one then."""
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
