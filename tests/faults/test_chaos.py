"""Random user actions, kills and restarts: afterwards every run can be finished, and its journal is complete."""

import random
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from clarinet_tui.history.database import Database
from clarinet_tui.history.ingest import ingest_all
from clarinet_tui.history.reindex import reindex
from clarinet_tui.history.states import refresh_states
from clarinet_tui.queue import requests
from clarinet_tui.queue.queue_file import read_queue, update_queue
from clarinet_tui.queue.supervisor_process import find_supervisor
from clarinet_tui.runs.directory import RunDirectory, find_worker
from clarinet_tui.runs.lock import read_lock_owner
from clarinet_tui.runs.process import send_signal
from core.errors import InputError
from tests.support.histories import content, open_history
from tests.support.scale import rounds
from tests.support.supervised import (
    enqueue_directly,
    last_event,
    make_fault_run,
    read_logs,
    start_supervisor,
    wait_until,
)
from tests.support.workers import valid_iterations

STEPS = 40


class RandomUser:
    """Performs random actions on a runs directory. An action may be refused with an InputError."""

    def __init__(self, runs_dir: Path, rng: random.Random) -> None:
        self.runs_dir, self.rng = runs_dir, rng
        self.runs: list[RunDirectory] = []
        self.supervisors: list[subprocess.Popen[bytes]] = []
        self.actions: list[str] = []

    def act(self) -> None:
        actions = [self.submit, self.stop, self.resume, self.pause, self.move, self.cancel, self.update_history]
        actions += [self.kill_worker, self.kill_supervisor, self.start_supervisor]
        action = self.rng.choice(actions) if self.runs else self.submit
        self.actions.append(action.__name__)
        with suppress(InputError):
            action()

    def start_supervisor(self) -> None:
        self.supervisors.append(start_supervisor(self.runs_dir))

    def submit(self) -> None:
        if len(self.runs) < 8:
            retries = self.rng.randint(0, 2)
            self.runs.append(make_fault_run(self.runs_dir, f"run{len(self.runs)}", f"steps={STEPS} pause=0.005"))
            enqueue_directly(self.runs[-1], retries=retries)

    def stop(self) -> None:
        requests.stop(self.pick_run(), timeout=self.rng.choice([0.0, 0.2, 60.0]))

    def resume(self) -> None:
        requests.resume([self.pick_run()], requests.LaunchOptions(self.runs_dir, self.runs_dir))

    def pause(self) -> None:
        ids = self.rng.choice([[], [self.pick_run().id]])
        requests.pause(self.runs_dir, ids, self.rng.random() < 0.5)

    def move(self) -> None:
        requests.move(self.runs_dir, [self.pick_run().id], self.rng.randint(0, 3))

    def cancel(self) -> None:
        requests.cancel(self.runs_dir, [self.pick_run().id])

    def update_history(self) -> None:
        with open_history(self.runs_dir) as db:
            ingest_all(db, self.runs_dir)
            refresh_states(db, self.runs_dir)

    def kill_worker(self) -> None:
        if owner := read_lock_owner(self.pick_run().lock):
            send_signal(owner, signal.SIGKILL)

    def kill_supervisor(self) -> None:
        if owner := find_supervisor(self.runs_dir):
            send_signal(owner, signal.SIGKILL)

    def pick_run(self) -> RunDirectory:
        return self.rng.choice(self.runs)


@pytest.fixture
def user(runs: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[RandomUser]:
    user = RandomUser(runs, random.Random(request.param))
    monkeypatch.setattr(requests, "ensure_supervisor", lambda runs_dir: user.start_supervisor())
    try:
        yield user
    finally:
        for process in user.supervisors:
            process.kill()
            process.wait()


@pytest.mark.parametrize("user", range(rounds(1, 10)), indirect=True)
def test_after_random_actions_every_run_can_be_finished(runs: Path, user: RandomUser) -> None:
    update_queue(runs, lambda queue: queue.with_slots({"cpu": 3}))
    user.start_supervisor()
    for _ in range(rounds(60, 300)):
        user.act()
        time.sleep(user.rng.random() / 20)
    actions = " ".join(user.actions)
    finish_all(runs, user)
    for run in user.runs:
        assert valid_iterations(run) == list(range(1, STEPS + 1)), f"{run.id}: {actions}\n{read_logs(runs)}"
    with open_history(runs) as db:
        ingest_all(db, runs)
        refresh_states(db, runs)
        assert {row[0] for row in db.tuples("SELECT state FROM runs")} == {"finished"}
        assert db.rows("SELECT * FROM events WHERE event = 'damaged'") == []
        incremental = content(db)
        reindex(runs, path=runs / "rebuilt.db")
        with Database.open(runs, runs / "rebuilt.db") as rebuilt:
            assert content(rebuilt) == incremental


def finish_all(runs: Path, user: RandomUser) -> None:
    """Release the queue, and resume every run that has not finished, as a user would."""
    user.start_supervisor()
    requests.pause(runs, [], False)
    with suppress(InputError):
        requests.pause(runs, [entry.id for entry in read_queue(runs).waiting], False)
    for _ in range(3):
        wait_until(lambda: not read_queue(runs).entries, runs)
        wait_until(lambda: all(find_worker(run) is None for run in user.runs), runs)
        unfinished = [run for run in user.runs if last_event(run) != "finished"]
        requests.resume(unfinished, requests.LaunchOptions(runs, runs))
    assert [run.id for run in user.runs if last_event(run) != "finished"] == [], read_logs(runs)
