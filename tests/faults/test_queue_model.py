"""Random operations of several processes on one queue, each step checked against a model; failures print the seed.

Clients, workers and supervisors are killed at any time, the disk fills up, and clocks jump. `CLARINET_SEED=N` repeats
one sequence of operations; `make soak` runs new ones for ten minutes.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from clarinet_tui.history.database import Database
from clarinet_tui.history.ingest import ingest_all
from clarinet_tui.history.reindex import reindex
from clarinet_tui.history.states import refresh_states
from clarinet_tui.queue.queue_file import read_queue, update_queue
from clarinet_tui.queue.supervisor import SUPERVISOR_LOCK
from clarinet_tui.runs.directory import RunDirectory, find_worker, list_runs
from clarinet_tui.runs.lock import read_lock_owner, signal_holder
from tests.faults.queue_model import Model, Where, observe
from tests.support.disks import fill, mount_error, small_disk
from tests.support.histories import content, open_history
from tests.support.scale import SOAK, rounds
from tests.support.supervised import ROOT, last_event, read_logs, runs_directory, wait_until
from tests.support.workers import valid_iterations

SLOTS, MAX_RUNS = 3, 12
SOAK_SECONDS = 600.0
DAY = 86_400.0
SEED = "CLARINET_SEED"
USUAL = {
    Where.WAITING: ("pause", "continue", "continue", "move", "cancel", "stop", "remove"),
    Where.STARTED: ("stop", "resume"),
    Where.IDLE: ("resume", "resume", "remove"),
    Where.TRASH: ("restore",),
}
"""What users do with a run, by where it is."""
UNUSUAL = ("stop", "resume", "pause", "continue", "move", "cancel", "remove", "restore")
"""Mostly refused."""
FAULTS = ("kill worker", "kill supervisor", "fill disk", "free disk")


class Simulation:
    """Random users and faults on one runs directory."""

    def __init__(self, runs_dir: Path, seed: int, clients: "subprocess.Popen[str]") -> None:
        self.runs_dir, self.rng, self._clients = runs_dir, random.Random(seed), clients
        self.model = Model(SLOTS)
        self.log: list[str] = []
        self.filler: Path | None = None
        self.counts = {"operations": 0, "killed": 0, "refused": 0}
        update_queue(runs_dir, lambda queue: queue.with_slots({"cpu": SLOTS}))
        self.perform([self.operation("supervise")])

    def step(self) -> None:
        """Perform up to three operations on different runs at once, or let something fail."""
        kind = self.rng.random()
        if kind < 0.15:
            self.fail(self.rng.choice(FAULTS))
            self.perform([])
        elif kind < 0.25:
            self.perform([self.operation("supervise")])
        elif kind < 0.35:
            self.perform([self.operation(self.rng.choice(("pause all", "continue all", "continue all")))])
        elif kind < 0.45 or not self.model.runs:
            self.perform([self.sweep()] if len(self.model.runs) < MAX_RUNS else [])
        else:
            chosen = self.rng.sample(sorted(self.model.runs), min(len(self.model.runs), self.rng.randint(1, 3)))
            reader = [self.operation("read history")] if self.rng.random() < 0.2 else []
            self.perform([*reader, *(self.operation(self.choose(run_id), run=run_id) for run_id in chosen)])

    def choose(self, run_id: str) -> str:
        return self.rng.choice(USUAL[self.model.runs[run_id].place] if self.rng.random() < 0.8 else UNUSUAL)

    def operation(self, name: str, **arguments: Any) -> dict[str, Any]:
        kill_after = self.rng.random() / 40 if self.rng.random() < 0.2 else 0.0
        jump = self.rng.choice((0.0, 0.0, DAY, -DAY))
        options = {"timeout": self.rng.choice((0.0, 0.2, 60.0)), "index": self.rng.choice((0, 99))}
        return {"name": name, "kill_after": kill_after, "jump": jump, **options, **arguments}

    def sweep(self) -> dict[str, Any]:
        steps = [self.rng.randint(3, 60) for _ in range(self.rng.randint(1, 3))]
        options = {
            "retries": self.rng.randint(0, 2),
            "paused": self.rng.random() < 0.3,
            "front": self.rng.random() < 0.3,
        }
        return self.operation("sweep", steps=steps, **options)

    def perform(self, operations: list[dict[str, Any]]) -> None:
        """Run operations at once in processes of their own, and check what can be seen afterwards."""
        assert self._clients.stdin is not None
        assert self._clients.stdout is not None
        print(json.dumps(operations), file=self._clients.stdin, flush=True)
        results = json.loads(self._clients.stdout.readline())
        for operation, result in zip(operations, results, strict=True):
            self.log.append(f"{operation['name']} {operation.get('run', '')} -> {result}")
            self.counts["operations"] += 1
            self.counts["killed"] += "killed" in result
            self.counts["refused"] += "refused" in result
        self.model.check(operations, results, observe(self.runs_dir), self.filler is not None)

    def fail(self, fault: str) -> None:
        self.log.append(fault)
        if fault == "kill supervisor":
            self._kill(self.runs_dir / SUPERVISOR_LOCK)
        elif fault == "kill worker" and (runs := list_runs(self.runs_dir)):
            self._kill(self.rng.choice(runs).lock)
        elif fault == "fill disk" and os.path.ismount(self.runs_dir.parent) and self.filler is None:
            self.filler = fill(self.runs_dir.parent)
        elif fault == "free disk":
            self.free_disk()

    def _kill(self, lock: Path) -> None:
        owner = read_lock_owner(lock)
        if owner is not None and owner.pid != os.getpid():
            self.counts["killed"] += signal_holder(lock, owner, signal.SIGKILL)

    def free_disk(self) -> None:
        if self.filler is not None:
            self.filler.unlink()
        self.filler = None

    def finish(self) -> None:
        """Repair everything as a user would, and wait until every run has finished."""
        self.free_disk()
        self.perform([self._surely("continue all")])
        for run_id, run in sorted(self.model.runs.items()):
            if run.place is Where.TRASH:
                self.perform([self._surely("restore", run=run_id)])
        for _ in range(4):
            for entry in read_queue(self.runs_dir).waiting:
                self.perform([self._surely("continue", run=entry.id)])
            self.perform([self._surely("supervise")])
            wait_until(lambda: not read_queue(self.runs_dir).entries, self.runs_dir)
            wait_until(lambda: not any(map(find_worker, list_runs(self.runs_dir))), self.runs_dir)
            self.perform([])
            for unfinished in self.unfinished():
                self.perform([self._surely("resume", run=unfinished.id)])
        assert self.unfinished() == [], read_logs(self.runs_dir)

    def _surely(self, name: str, **arguments: Any) -> dict[str, Any]:
        return self.operation(name, **arguments) | {"kill_after": 0.0, "jump": 0.0}

    def unfinished(self) -> list[RunDirectory]:
        return [run for run in list_runs(self.runs_dir) if last_event(run) != "finished"]


@contextmanager
def simulation(tmp_path: Path, seed: int) -> Iterator[Simulation]:
    """Run the clients, on a small disk where mounting is permitted."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    place = nullcontext(tmp_path) if mount_error() else small_disk(tmp_path / "disk", "16m")
    with place as parent, runs_directory(parent / "runs") as runs:
        command = [sys.executable, "-P", "-m", "tests.faults.queue_clients", str(runs)]
        with subprocess.Popen(
            command, text=True, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as clients:
            try:
                yield Simulation(runs, seed, clients)
            finally:
                clients.kill()


def check_journals(runs_dir: Path) -> None:
    """Check that every iteration was recorded once, and that the history equals one that is rebuilt."""
    for run in list_runs(runs_dir):
        behaviour = dict(pair.split("=") for pair in run.read_config().name.split())
        assert valid_iterations(run) == list(range(1, int(behaviour["steps"]) + 1)), run.id
    with open_history(runs_dir) as db:
        ingest_all(db, runs_dir)
        refresh_states(db, runs_dir)
        assert {row[0] for row in db.tuples("SELECT state FROM runs")} == {"finished"}
        assert db.rows("SELECT * FROM events WHERE event = 'damaged'") == []
        incremental = content(db)
        reindex(runs_dir, path=runs_dir / "rebuilt.db")
        with Database.open(runs_dir, runs_dir / "rebuilt.db") as rebuilt:
            assert content(rebuilt) == incremental


def run_seed(tmp_path: Path, seed: int, steps: int) -> dict[str, int]:
    """Perform random steps, and finish; a failure names the seed and what was done."""
    tmp_path.mkdir(exist_ok=True)
    with simulation(tmp_path, seed) as running:
        try:
            for _ in range(steps):
                running.step()
            running.finish()
            check_journals(running.runs_dir)
        except AssertionError as error:
            done = "\n".join(running.log)
            raise AssertionError(f"{SEED}={seed}: {error}\n{done}\n{read_logs(running.runs_dir)}") from error
        return running.counts


def test_the_queue_behaves_like_its_model(tmp_path: Path) -> None:
    seed = int(os.environ.get(SEED, 1))
    assert run_seed(tmp_path, seed, rounds(100, 400))["operations"] > 0


@pytest.mark.skipif(not SOAK, reason="runs for ten minutes, in `make soak`")
def test_the_queue_behaves_like_its_model_for_ten_minutes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deadline, total, seeds = time.monotonic() + SOAK_SECONDS, dict[str, int](), list[int]()
    while time.monotonic() < deadline:
        seeds.append(random.SystemRandom().randrange(1 << 32))
        counts = run_seed(tmp_path / str(len(seeds)), seeds[-1], 200)
        total = {name: total.get(name, 0) + count for name, count in counts.items()}
    with capsys.disabled():
        print(f"\n{total} with the {len(seeds)} seeds {' '.join(map(str, seeds))}")
