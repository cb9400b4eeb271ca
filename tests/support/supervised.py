"""The real supervisor as a process, with workers that train nothing."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from clarinet_tui.devices.device import Device
from clarinet_tui.history.ingest import ingest_run
from clarinet_tui.history.queries import get_run
from clarinet_tui.history.states import update_history
from clarinet_tui.queue import supervisor as real
from clarinet_tui.queue.queue_file import QueueEntry, update_queue
from clarinet_tui.queue.supervisor import SUPERVISOR_LOCK, LocalExecutor, find_supervisor
from clarinet_tui.runs.directory import RunDirectory, list_runs
from clarinet_tui.runs.journal import read_last_event
from clarinet_tui.runs.lock import read_lock_owner, signal_holder
from core.resolve import resolve
from tests.support import waiting
from tests.support.events import CLOCK_FIELDS
from tests.support.fault_worker import STARTS_FILE
from tests.support.histories import open_history
from tests.support.workers import events_named

ROOT = Path(__file__).parents[2]


class FaultWorkerExecutor(LocalExecutor):
    def command(self, run: RunDirectory, entry: QueueEntry, device: Device) -> list[str]:
        python, safe_path, _, _, *arguments = super().command(run, entry, device)
        return [python, safe_path, "-m", "tests.support.fault_worker", *arguments]


class RecordingExecutor(LocalExecutor):
    """Starts no process; records the calls. Its workers never end."""

    def __init__(self) -> None:
        super().__init__()
        self.started: set[str] = set()
        self.calls: list[str] = []

    def start(self, run: RunDirectory, entry: QueueEntry, device: Device) -> None:
        self.calls.append(f"start {run.id} on {device.key}")
        self.started.add(run.id)

    def is_running(self, run: RunDirectory) -> bool:
        return run.id in self.started or super().is_running(run)

    def stop(self, run: RunDirectory) -> bool:
        self.calls.append(f"stop {run.id}")
        return True

    def kill(self, run: RunDirectory) -> None:
        self.calls.append(f"kill {run.id}")


def main() -> int:
    real.POLL, real.SCHEDULE_INTERVAL = 0.02, 0.05
    return real.main(FaultWorkerExecutor())


def start_supervisor(runs_dir: Path, environment: dict[str, str] | None = None) -> "subprocess.Popen[bytes]":
    """Start a supervisor; it exits if there is one already."""
    environment = {**(environment or os.environ), "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    with (runs_dir / "supervisor.log").open("ab") as log:
        command = [sys.executable, "-P", "-m", "tests.support.supervised", str(runs_dir)]
        return subprocess.Popen(command, cwd=runs_dir, env=environment, stdout=log, stderr=log)


@contextmanager
def running_supervisor(
    runs_dir: Path, environment: dict[str, str] | None = None
) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a supervisor, and kill it at the end."""
    runs_dir.mkdir(exist_ok=True)
    with start_supervisor(runs_dir, environment) as process:
        try:
            wait_until(lambda: supervisor_pid(runs_dir) == process.pid, runs_dir)
            yield process
        finally:
            process.kill()


@contextmanager
def runs_directory(runs_dir: Path) -> Iterator[Path]:
    """Create a runs directory; kill its supervisor and workers at the end."""
    runs_dir.mkdir()
    try:
        yield runs_dir
    finally:
        kill_processes(runs_dir)


def kill_processes(runs_dir: Path) -> None:
    """Kill the supervisor and the workers of a runs directory, but not this process."""
    for lock in (runs_dir / SUPERVISOR_LOCK, *(run.lock for run in list_runs(runs_dir))):
        owner = read_lock_owner(lock)
        if owner is not None and owner.pid != os.getpid():
            signal_holder(lock, owner, signal.SIGKILL)


def supervisor_pid(runs_dir: Path) -> int | None:
    supervisor = find_supervisor(runs_dir)
    return supervisor.pid if supervisor else None


def make_fault_run(runs_dir: Path, name: str, behaviour: str = "", **settings: Any) -> RunDirectory:
    config = resolve({"preset": "smoke", "task": "U->M", "name": behaviour, "device": "cpu"}, **settings)
    return RunDirectory.create(runs_dir, config, id=name)


def enqueue_directly(*runs: RunDirectory, **fields: Any) -> None:
    """Add runs to the queue without starting a supervisor."""
    folder = str(runs[0].runs_dir.absolute())
    defaults = {"working_directory": folder, "data_dir": folder, "device": "cpu"} | fields
    entries = [QueueEntry(id=run.id, **defaults) for run in runs]
    update_queue(runs[0].runs_dir, lambda queue: queue.with_entries([*queue.entries, *entries]))


def read_worker_starts(run: RunDirectory) -> list[list[str]]:
    """Return pid, CUDA_VISIBLE_DEVICES and device of each worker that has locked the run."""
    path = run.path / STARTS_FILE
    return [line.split(" ") for line in path.read_text().splitlines()] if path.exists() else []


def count_steps(run: RunDirectory) -> int:
    return len(events_named(run, "step"))


def last_event(run: RunDirectory) -> str:
    event = read_last_event(run.journal)
    return event["event"] if event else ""


def read_state(run: RunDirectory) -> str:
    """Return the run's state after updating the history."""
    with open_history(run.runs_dir) as db:
        update_history(db, run.runs_dir)
        row = get_run(db, run.id)
        assert row is not None
        return row.state


def read_metric_tables(run: RunDirectory) -> dict[str, list[dict[str, Any]]]:
    """Return the run's rows in the history, without its id and measured times."""
    tables = {}
    with open_history(run.runs_dir) as db:
        ingest_run(db, run)
        for table in ("iterations", "evaluations", "rollups"):
            rows = [dict(row) for row in db.rows(f"SELECT * FROM {table}")]
            kept = [row for row in rows if row.get("metric") not in CLOCK_FIELDS]
            excluded = ("run", "time", *CLOCK_FIELDS)
            tables[table] = [{name: row[name] for name in row if name not in excluded} for row in kept]
    return tables


def wait_until(condition: Callable[[], object], runs_dir: Path, timeout: float = waiting.TIMEOUT) -> None:
    waiting.wait_until(condition, lambda: read_logs(runs_dir), timeout)


def read_logs(runs_dir: Path) -> str:
    """Return the logs of supervisor and workers, for the message of a failed test."""
    files = [path for path in sorted(runs_dir.rglob("*.log")) if path.is_file()]
    return "\n".join(f"{path}:\n{path.read_text()}" for path in files)


if __name__ == "__main__":
    sys.exit(main())
