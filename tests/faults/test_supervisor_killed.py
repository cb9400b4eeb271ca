"""kill -9 of the supervisor, and of workers with it: runs go on, are adopted, and none is begun twice or forgotten."""

import os
import random
import shutil
import signal
import time
from pathlib import Path

import pytest

from clarinet_tui.queue import requests
from clarinet_tui.queue.queue_file import change_queue, read_queue
from clarinet_tui.queue.supervisor_process import SUPERVISOR_LOCK
from clarinet_tui.runs.process import listens
from core.errors import InputError
from tests.support.histories import history
from tests.support.scale import rounds
from tests.support.supervised import begun, fed, logs, make, present, put, state, steps, until, word
from tests.support.workers import said


def empty(runs: Path) -> bool:
    return not read_queue(runs).entries


def test_runs_go_on_and_the_next_supervisor_adopts_them(runs: Path) -> None:
    one, two, three = (make(runs, name, "steps=150") for name in ("one", "two", "three"))
    change_queue(runs, lambda queue: queue.with_slots({"cpu": 2}))
    put(one, two, three)
    with fed(runs):
        until(lambda: steps(one) and steps(two), runs)
    before = steps(one), steps(two)
    assert present(runs) is None
    until(lambda: steps(one) > before[0] and steps(two) > before[1], runs)
    assert begun(three) == []
    with fed(runs):
        until(lambda: empty(runs), runs)
    assert [word(run) for run in (one, two, three)] == ["finished"] * 3, logs(runs)
    assert [len(begun(run)) for run in (one, two, three)] == [1, 1, 1]


@pytest.mark.parametrize("retries", [0, 1])
def test_killed_together_the_run_is_lost_and_goes_on_where_that_was_asked_for(runs: Path, retries: int) -> None:
    run = make(runs, "one", "steps=60")
    put(run, retries=retries)
    with fed(runs) as supervisor:
        until(lambda: steps(run) > 20, runs)
        supervisor.kill()
        os.kill(int(begun(run)[0][0]), signal.SIGKILL)
    until(lambda: state(run) == "lost", runs, patience=5)
    with fed(runs):
        until(lambda: empty(runs), runs)
        if not retries:
            assert (state(run), len(begun(run))) == ("lost", 1)
            requests.resume([run], requests.Wishes(runs, runs))
            until(lambda: empty(runs), runs)
    assert (state(run), len(begun(run))) == ("finished", 2)
    with history(runs) as db:
        assert [row[0] for row in db.tuples("SELECT iteration FROM iterations")] == list(range(1, 61))


def test_killed_together_it_can_be_resumed_before_anybody_has_looked_after_it(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make(runs, "one", "steps=30")
    put(run)
    with fed(runs) as supervisor:
        until(lambda: steps(run) > 10, runs)
        with pytest.raises(InputError, match="is running already"):
            requests.resume([run], requests.Wishes(runs, runs))
        supervisor.kill()
        os.kill(int(begun(run)[0][0]), signal.SIGKILL)
    monkeypatch.setattr(requests, "ensure_supervisor", lambda runs_dir: None)
    until(lambda: state(run) == "lost", runs)
    requests.resume([run], requests.Wishes(runs, runs))
    assert [entry.id for entry in read_queue(runs).waiting] == ["one"]
    with fed(runs):
        until(lambda: empty(runs), runs)
    assert (state(run), len(begun(run))) == ("finished", 2)


def test_killed_at_any_moment_every_run_is_begun_once(runs: Path) -> None:
    """Also between taking a run from the queue and starting it, and before its worker has its lock."""
    chance = random.Random(1)
    every = [make(runs, f"run{number}", "steps=5 late=0.2") for number in range(rounds(3, 20))]
    for run in every:
        put(run)
        with fed(runs):
            time.sleep(chance.random() / 2)
    with fed(runs):
        until(lambda: empty(runs), runs)
    assert [(word(run), len(begun(run))) for run in every] == [("finished", 1)] * len(every), logs(runs)


def test_a_run_that_saves_itself_is_not_asked_again_by_the_next_supervisor(runs: Path) -> None:
    run = make(runs, "one", "steps=100000 saves=1")
    put(run)
    with fed(runs):
        until(lambda: steps(run), runs)
        requests.stop(run)
        pid = int(begun(run)[0][0])
        until(lambda: not listens(pid, signal.SIGTERM), runs)
    with fed(runs):
        until(lambda: empty(runs), runs)
    (stopped,) = said(run, "stopped")
    assert run.checkpoint.read_text() == str(stopped["iteration"])
    assert state(run) == "stopped"


def test_a_run_that_does_not_end_is_killed_after_its_grace(runs: Path) -> None:
    run = make(runs, "one", "steps=100000 saves=1000")
    put(run)
    with fed(runs):
        until(lambda: steps(run), runs)
        requests.stop(run, grace=0.5)
        assert not requests.wait_until_stopped(run, grace=0.5)
    assert empty(runs)
    assert state(run) == "lost"


@pytest.mark.parametrize(("code", "told"), [("1", "exit code 1"), ("77", "exit code 77")])
def test_a_worker_that_ends_without_a_word_has_failed_and_is_tried_again(runs: Path, code: str, told: str) -> None:
    run = make(runs, "one", f"dies={code}")
    put(run, retries=1)
    with fed(runs):
        until(lambda: empty(runs), runs)
    failed = said(run, "failed")
    assert len(failed) == 2
    assert f"the worker ended with {told} before it said a word" in failed[0]["message"]
    assert state(run) == "failed"


def test_stopped_before_it_began_is_no_failure(runs: Path) -> None:
    run = make(runs, "one", "late=60")
    put(run)
    with fed(runs):
        until(lambda: read_queue(runs).started, runs)
        requests.stop(run, grace=0.2)
        assert requests.wait_until_stopped(run, grace=0.2)
    assert not run.journal.exists()
    assert empty(runs)


def test_a_directory_that_is_gone_has_no_supervisor_and_is_not_made_again(runs: Path) -> None:
    with fed(runs) as old:
        shutil.rmtree(runs)
        assert old.wait(timeout=60) == 0
        assert not runs.exists()
    with fed(runs) as one:
        (runs / SUPERVISOR_LOCK).unlink()
        with fed(runs):
            assert one.wait(timeout=60) == 0
