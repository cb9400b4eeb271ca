"""Whether a worker or a supervisor is there, and a supervisor where there is none."""

import os
import subprocess
import sys
import time
from pathlib import Path

from clarinet_tui.runs.atomic_files import modified, open_append
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.lock import is_held, read_holder
from clarinet_tui.runs.process import SILENT_AFTER, Holder, alive, myself

SUPERVISOR_LOCK, SUPERVISOR_LOG = "supervisor.lock", "supervisor.log"


def holder_of(run: RunDirectory) -> Holder | None:
    """The live worker of a run. One on another machine is gone when its lock is free and it has long been silent."""
    holder = read_holder(run.lock)
    if holder is None or (lives := alive(holder)) is False:
        return None
    silent = time.time() - modified(run.journal) > SILENT_AFTER
    return holder if lives or not silent or is_held(run.lock) else None


def supervisor(runs_dir: Path) -> Holder | None:
    """Who feeds the queue now, for those who only look."""
    holder = read_holder(Path(runs_dir) / SUPERVISOR_LOCK)
    return holder if holder is not None and alive(holder) is not False else None


def fed_elsewhere(runs_dir: Path) -> str:
    """The machine whose supervisor was the last one, if that is not this one; else nothing."""
    last, here = read_holder(Path(runs_dir) / SUPERVISOR_LOCK), myself()
    return last.host if last and (last.host, last.machine) != (here.host, here.machine) else ""


def ensure_supervisor(runs_dir: Path) -> None:
    """Start one unless the lock is held. Of two that are started at once, the second goes away by itself."""
    runs_dir = Path(runs_dir).absolute()
    if is_held(runs_dir / SUPERVISOR_LOCK):
        return
    log = open_append(runs_dir / SUPERVISOR_LOG, 0o600)
    try:
        subprocess.Popen(
            [sys.executable, "-P", "-m", "clarinet_tui.queue.supervisor", str(runs_dir)],
            cwd=runs_dir,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    finally:
        os.close(log)
