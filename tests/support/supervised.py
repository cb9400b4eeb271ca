"""The real supervisor as a process, with workers that train nothing; and what tests ask about both."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from clarinet_tui.devices.device import Device
from clarinet_tui.history.ingest import ingest_all, ingest_run
from clarinet_tui.history.queries import get_run
from clarinet_tui.history.states import refresh_states
from clarinet_tui.queue import supervisor as real
from clarinet_tui.queue.executor import LocalExecutor
from clarinet_tui.queue.queue_file import QueueEntry, update_queue
from clarinet_tui.queue.supervisor_process import SUPERVISOR_LOCK, find_supervisor
from clarinet_tui.runs.directory import RunDirectory, list_runs
from clarinet_tui.runs.journal_reader import read_last_event
from clarinet_tui.runs.lock import read_lock_owner
from clarinet_tui.runs.process import send_signal
from core.resolve import resolve
from tests.support.fault_worker import STARTS_FILE
from tests.support.histories import open_history
from tests.support.tiny import CLOCK_FIELDS
from tests.support.workers import events_named

ROOT = Path(__file__).parents[2]
TIMEOUT = 120.0


class FaultWorkerExecutor(LocalExecutor):
    def command(self, run: RunDirectory, entry: QueueEntry, device: Device) -> list[str]:
        python, safely, _, _, *words = super().command(run, entry, device)
        return [python, safely, "-m", "tests.support.fault_worker", *words]


def main() -> int:
    real.POLL, real.SCHEDULE_INTERVAL = 0.02, 0.05
    return real.main(FaultWorkerExecutor())


def start_supervisor(runs_dir: Path, environment: dict[str, str] | None = None) -> "subprocess.Popen[bytes]":
    """A supervisor; it may be turned away by one that is there."""
    environment = {**(environment or os.environ), "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    with (runs_dir / "supervisor.log").open("ab") as log:
        command = [sys.executable, "-P", "-m", "tests.support.supervised", str(runs_dir)]
        return subprocess.Popen(command, cwd=runs_dir, env=environment, stdout=log, stderr=log)


@contextmanager
def running_supervisor(
    runs_dir: Path, environment: dict[str, str] | None = None
) -> Iterator["subprocess.Popen[bytes]"]:
    """A supervisor that is there, killed at the end."""
    runs_dir.mkdir(exist_ok=True)
    with start_supervisor(runs_dir, environment) as process:
        try:
            wait_until(lambda: supervisor_pid(runs_dir) == process.pid, runs_dir)
            yield process
        finally:
            process.kill()


@contextmanager
def runs_directory(runs_dir: Path) -> Iterator[Path]:
    """A runs directory; whatever still works in it at the end is killed."""
    runs_dir.mkdir()
    try:
        yield runs_dir
    finally:
        for lock in (runs_dir / SUPERVISOR_LOCK, *(run.lock for run in list_runs(runs_dir))):
            if holder := read_lock_owner(lock):
                send_signal(holder, signal.SIGKILL)


def supervisor_pid(runs_dir: Path) -> int | None:
    """The pid of the supervisor that is there."""
    found = find_supervisor(runs_dir)
    return found.pid if found else None


def make_fault_run(runs_dir: Path, name: str, steering: str = "", **settings: Any) -> RunDirectory:
    config = resolve({"preset": "smoke", "task": "U->M", "name": steering, "device": "cpu"}, **settings)
    return RunDirectory.create(runs_dir, config, id=name)


def enqueue_directly(*runs: RunDirectory, **fields: Any) -> None:
    """Into the queue, without asking for a supervisor."""
    usual = {"working_directory": str(runs[0].runs_dir), "data_dir": str(runs[0].runs_dir), "device": "cpu"} | fields
    entries = [QueueEntry(id=run.id, **usual) for run in runs]
    update_queue(runs[0].runs_dir, lambda queue: queue.with_entries([*queue.entries, *entries]))


def read_worker_starts(run: RunDirectory) -> list[list[str]]:
    """Pid and surroundings of each worker that held the run."""
    path = run.path / STARTS_FILE
    return [line.split(" ") for line in path.read_text().splitlines()] if path.exists() else []


def count_steps(run: RunDirectory) -> int:
    return len(events_named(run, "step"))


def last_event(run: RunDirectory) -> str:
    """The run's last one."""
    found = read_last_event(run.journal)
    return found["event"] if found else ""


def read_state(run: RunDirectory) -> str:
    """As whoever looks now finds it."""
    with open_history(run.runs_dir) as db:
        ingest_all(db, run.runs_dir)
        refresh_states(db, run.runs_dir)
        row = get_run(db, run.id)
        assert row is not None
        return row.state


def read_metric_tables(run: RunDirectory) -> dict[str, list[dict[str, Any]]]:
    """What the history tells of the run, its name and what a clock has measured aside."""
    tables = {}
    with open_history(run.runs_dir) as db:
        ingest_run(db, run)
        for table in ("iterations", "evaluations", "rollups"):
            rows = [dict(row) for row in db.rows(f"SELECT * FROM {table}")]
            kept = [row for row in rows if row.get("metric") not in CLOCK_FIELDS]
            left_out = ("run", "time", *CLOCK_FIELDS)
            tables[table] = [{name: row[name] for name in row if name not in left_out} for row in kept]
    return tables


def wait_until(found: Callable[[], object], runs_dir: Path, patience: float = TIMEOUT) -> None:
    limit = time.monotonic() + patience
    while not found():
        assert time.monotonic() < limit, read_logs(runs_dir)
        time.sleep(0.02)


def read_logs(runs_dir: Path) -> str:
    """What supervisor and workers printed, for whoever reads why a test failed."""
    files = [path for path in sorted(runs_dir.rglob("*.log")) if path.is_file()]
    return "\n".join(f"{path}:\n{path.read_text()}" for path in files)


if __name__ == "__main__":
    sys.exit(main())
