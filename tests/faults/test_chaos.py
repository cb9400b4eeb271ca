"""Users, kills and restarts in any order: in the end every run is there once, whole, and nothing is stuck."""

import random
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from clarinet_tui.history.database import Database
from clarinet_tui.history.ingest import ingest_all, reindex
from clarinet_tui.history.states import refresh_states
from clarinet_tui.queue import requests
from clarinet_tui.queue.queue_file import change_queue, read_queue
from clarinet_tui.queue.supervisor_process import supervisor
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.lock import read_holder
from clarinet_tui.runs.process import send_signal
from core.errors import InputError
from tests.support.histories import content, history
from tests.support.scale import rounds
from tests.support.supervised import feed, logs, make, put, until, word
from tests.support.workers import records

STEPS = 40


class Users:
    """Everything that anybody may do, by chance. What is refused in a sentence is part of it."""

    def __init__(self, runs_dir: Path, chance: random.Random) -> None:
        self.runs_dir, self.chance = runs_dir, chance
        self.runs: list[RunDirectory] = []
        self.supervisors: list[subprocess.Popen[bytes]] = []
        self.did: list[str] = []

    def act(self) -> None:
        acts = [self.submit, self.stop, self.resume, self.pause, self.move, self.cancel, self.look]
        acts += [self.kill_worker, self.kill_supervisor, self.start_supervisor]
        act = self.chance.choice(acts) if self.runs else self.submit
        self.did.append(act.__name__)
        with suppress(InputError):
            act()

    def start_supervisor(self) -> None:
        self.supervisors.append(feed(self.runs_dir))

    def submit(self) -> None:
        if len(self.runs) < 8:
            retries = self.chance.randint(0, 2)
            self.runs.append(make(self.runs_dir, f"run{len(self.runs)}", f"steps={STEPS} pause=0.005"))
            put(self.runs[-1], retries=retries)

    def stop(self) -> None:
        requests.stop(self.any(), grace=self.chance.choice([0.0, 0.2, 60.0]))

    def resume(self) -> None:
        requests.resume([self.any()], requests.Wishes(self.runs_dir, self.runs_dir))

    def pause(self) -> None:
        ids = self.chance.choice([[], [self.any().id]])
        requests.pause(self.runs_dir, ids, self.chance.random() < 0.5)

    def move(self) -> None:
        requests.move(self.runs_dir, [self.any().id], self.chance.randint(0, 3))

    def cancel(self) -> None:
        requests.cancel(self.runs_dir, [self.any().id])

    def look(self) -> None:
        with history(self.runs_dir) as db:
            ingest_all(db, self.runs_dir)
            refresh_states(db, self.runs_dir)

    def kill_worker(self) -> None:
        if holder := read_holder(self.any().lock):
            send_signal(holder, signal.SIGKILL)

    def kill_supervisor(self) -> None:
        if holder := supervisor(self.runs_dir):
            send_signal(holder, signal.SIGKILL)

    def any(self) -> RunDirectory:
        return self.chance.choice(self.runs)


@pytest.fixture
def users(runs: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Users]:
    acting = Users(runs, random.Random(request.param))
    monkeypatch.setattr(requests, "ensure_supervisor", lambda runs_dir: acting.start_supervisor())
    try:
        yield acting
    finally:
        for process in acting.supervisors:
            process.kill()
            process.wait()


@pytest.mark.parametrize("users", range(rounds(1, 10)), indirect=True)
def test_whatever_happens_every_run_can_be_finished_and_is_told_once(runs: Path, users: Users) -> None:
    change_queue(runs, lambda queue: queue.with_slots({"cpu": 3}))
    users.start_supervisor()
    for _ in range(rounds(60, 300)):
        users.act()
        time.sleep(users.chance.random() / 20)
    story = " ".join(users.did)
    finish(runs, users)
    for run in users.runs:
        assert iterations(run) == list(range(1, STEPS + 1)), f"{run.id}: {story}\n{logs(runs)}"
    with history(runs) as db:
        ingest_all(db, runs)
        refresh_states(db, runs)
        assert {row[0] for row in db.tuples("SELECT state FROM runs")} == {"finished"}
        assert db.rows("SELECT * FROM events WHERE event = 'damaged'") == []
        grown = content(db)
        reindex(runs, path=runs / "anew.db")
        with Database.open(runs, runs / "anew.db") as anew:
            assert content(anew) == grown


def finish(runs: Path, users: Users) -> None:
    """As a user would: let the queue go on, and resume whatever has not come to its end."""
    users.start_supervisor()
    requests.pause(runs, [], False)
    with suppress(InputError):
        requests.pause(runs, [entry.id for entry in read_queue(runs).waiting], False)
    for _ in range(3):
        until(lambda: not read_queue(runs).entries, runs)
        until(lambda: all(requests.holder_of(run) is None for run in users.runs), runs)
        left = [run for run in users.runs if word(run) != "finished"]
        requests.resume(left, requests.Wishes(runs, runs))
    assert [run.id for run in users.runs if word(run) != "finished"] == [], logs(runs)


def iterations(run: RunDirectory) -> list[int]:
    """Those that count, in the journal's order."""
    found: list[int] = []
    for fields in records(run):
        if fields["event"] in ("started", "resumed"):
            found = [at for at in found if at <= fields.get("from_iteration", 0)]
        elif fields["event"] == "step":
            found.append(fields["iteration"])
    return found
