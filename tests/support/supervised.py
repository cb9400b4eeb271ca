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

from clarinet_tui.devices.local import Device
from clarinet_tui.history.ingest import ingest_all, ingest_run
from clarinet_tui.history.queries import get_run
from clarinet_tui.history.states import refresh_states
from clarinet_tui.queue import supervisor as real
from clarinet_tui.queue.executor import LocalExecutor
from clarinet_tui.queue.queue_file import Entry, change_queue
from clarinet_tui.queue.supervisor_process import SUPERVISOR_LOCK, supervisor
from clarinet_tui.runs.directory import RunDirectory, all_runs
from clarinet_tui.runs.journal_reader import last_word
from clarinet_tui.runs.lock import read_holder
from clarinet_tui.runs.process import send_signal
from core.resolve import resolve
from tests.support.fault_worker import BEGUN
from tests.support.histories import history
from tests.support.tiny import UNREPEATABLE
from tests.support.workers import said

ROOT = Path(__file__).parents[2]
PATIENCE = 120.0


class StandIns(LocalExecutor):
    def command(self, run: RunDirectory, entry: Entry, device: Device) -> list[str]:
        python, safely, _, _, *words = super().command(run, entry, device)
        return [python, safely, "-m", "tests.support.fault_worker", *words]


def main() -> int:
    real.POLL, real.LOOK_AT_DEVICES = 0.02, 0.05
    return real.main(StandIns())


def feed(runs_dir: Path, environment: dict[str, str] | None = None) -> "subprocess.Popen[bytes]":
    """A supervisor; it may be turned away by one that is there."""
    environment = {**(environment or os.environ), "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    with (runs_dir / "supervisor.log").open("ab") as log:
        command = [sys.executable, "-P", "-m", "tests.support.supervised", str(runs_dir)]
        return subprocess.Popen(command, cwd=runs_dir, env=environment, stdout=log, stderr=log)


@contextmanager
def fed(runs_dir: Path, environment: dict[str, str] | None = None) -> Iterator["subprocess.Popen[bytes]"]:
    """A supervisor that is there, killed at the end."""
    runs_dir.mkdir(exist_ok=True)
    with feed(runs_dir, environment) as process:
        try:
            until(lambda: present(runs_dir) == process.pid, runs_dir)
            yield process
        finally:
            process.kill()


@contextmanager
def directory(runs_dir: Path) -> Iterator[Path]:
    """A runs directory; whatever still works in it at the end is killed."""
    runs_dir.mkdir()
    try:
        yield runs_dir
    finally:
        for lock in (runs_dir / SUPERVISOR_LOCK, *(run.lock for run in all_runs(runs_dir))):
            if holder := read_holder(lock):
                send_signal(holder, signal.SIGKILL)


def present(runs_dir: Path) -> int | None:
    """The pid of the supervisor that is there."""
    found = supervisor(runs_dir)
    return found.pid if found else None


def make(runs_dir: Path, name: str, steering: str = "", **settings: Any) -> RunDirectory:
    config = resolve({"preset": "smoke", "task": "U->M", "name": steering, "device": "cpu"}, **settings)
    return RunDirectory.create(runs_dir, config, id=name)


def put(*runs: RunDirectory, **fields: Any) -> None:
    """Into the queue, without asking for a supervisor."""
    usual = {"folder": str(runs[0].runs_dir), "data_dir": str(runs[0].runs_dir), "device": "cpu"} | fields
    entries = [Entry(id=run.id, **usual) for run in runs]
    change_queue(runs[0].runs_dir, lambda queue: queue.with_entries([*queue.entries, *entries]))


def begun(run: RunDirectory) -> list[list[str]]:
    """Pid and surroundings of each worker that held the run."""
    path = run.path / BEGUN
    return [line.split(" ") for line in path.read_text().splitlines()] if path.exists() else []


def steps(run: RunDirectory) -> int:
    return len(said(run, "step"))


def word(run: RunDirectory) -> str:
    """The run's last one."""
    found = last_word(run.journal)
    return found["event"] if found else ""


def state(run: RunDirectory) -> str:
    """As whoever looks now finds it."""
    with history(run.runs_dir) as db:
        ingest_all(db, run.runs_dir)
        refresh_states(db, run.runs_dir)
        row = get_run(db, run.id)
        assert row is not None
        return row.state


def recorded(run: RunDirectory) -> dict[str, list[dict[str, Any]]]:
    """What the history tells of the run, its name and what a clock has measured aside."""
    tables = {}
    with history(run.runs_dir) as db:
        ingest_run(db, run)
        for table in ("iterations", "evaluations", "rollups"):
            rows = [dict(row) for row in db.rows(f"SELECT * FROM {table}")]
            kept = [row for row in rows if row.get("metric") not in UNREPEATABLE]
            left_out = ("run", "time", *UNREPEATABLE)
            tables[table] = [{name: row[name] for name in row if name not in left_out} for row in kept]
    return tables


def until(found: Callable[[], object], runs_dir: Path, patience: float = PATIENCE) -> None:
    limit = time.monotonic() + patience
    while not found():
        assert time.monotonic() < limit, logs(runs_dir)
        time.sleep(0.02)


def logs(runs_dir: Path) -> str:
    """What supervisor and workers printed, for whoever reads why a test failed."""
    files = [path for path in sorted(runs_dir.rglob("*.log")) if path.is_file()]
    return "\n".join(f"{path}:\n{path.read_text()}" for path in files)


if __name__ == "__main__":
    sys.exit(main())
