"""kill -9 of the supervisor, alone or with its workers: the next one adopts the runs and starts each once."""

import os
import random
import shutil
import signal
import time
from pathlib import Path

import pytest

from clarinet_tui.place import LaunchOptions
from clarinet_tui.queue import requests
from clarinet_tui.queue.queue_file import read_queue, update_queue
from clarinet_tui.queue.supervisor import SUPERVISOR_LOCK
from clarinet_tui.runs.lock import handles_signal
from core.errors import InputError
from tests.support.histories import open_history
from tests.support.scale import rounds
from tests.support.supervised import (
    count_steps,
    enqueue_directly,
    last_event,
    make_fault_run,
    read_logs,
    read_state,
    read_worker_starts,
    running_supervisor,
    supervisor_pid,
    wait_until,
)
from tests.support.workers import events_named


def is_empty(runs: Path) -> bool:
    return not read_queue(runs).entries


def test_runs_continue_and_the_next_supervisor_adopts_them(runs: Path) -> None:
    one, two, three = (make_fault_run(runs, name, "steps=150") for name in ("one", "two", "three"))
    update_queue(runs, lambda queue: queue.with_slots({"cpu": 2}))
    enqueue_directly(one, two, three)
    with running_supervisor(runs):
        wait_until(lambda: count_steps(one) and count_steps(two), runs)
    before = count_steps(one), count_steps(two)
    assert supervisor_pid(runs) is None
    wait_until(lambda: count_steps(one) > before[0] and count_steps(two) > before[1], runs)
    assert read_worker_starts(three) == []
    with running_supervisor(runs):
        wait_until(lambda: is_empty(runs), runs)
    assert [last_event(run) for run in (one, two, three)] == ["finished"] * 3, read_logs(runs)
    assert [len(read_worker_starts(run)) for run in (one, two, three)] == [1, 1, 1]


@pytest.mark.parametrize("retries", [0, 1])
def test_a_run_killed_with_its_supervisor_is_lost_and_retried_if_requested(runs: Path, retries: int) -> None:
    run = make_fault_run(runs, "one", "steps=60")
    enqueue_directly(run, retries=retries)
    with running_supervisor(runs) as supervisor:
        wait_until(lambda: count_steps(run) > 20, runs)
        supervisor.kill()
        os.kill(int(read_worker_starts(run)[0][0]), signal.SIGKILL)
    wait_until(lambda: read_state(run) == "lost", runs, timeout=5)
    with running_supervisor(runs):
        wait_until(lambda: is_empty(runs), runs)
        if not retries:
            assert (read_state(run), len(read_worker_starts(run))) == ("lost", 1)
            requests.resume([run], LaunchOptions.from_paths(runs, runs))
            wait_until(lambda: is_empty(runs), runs)
    assert (read_state(run), len(read_worker_starts(run))) == ("finished", 2)
    with open_history(runs) as db:
        assert [row[0] for row in db.tuples("SELECT iteration FROM iterations")] == list(range(1, 61))


def test_a_run_killed_with_its_supervisor_can_be_resumed_before_another_supervisor_starts(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_fault_run(runs, "one", "steps=30")
    enqueue_directly(run)
    with running_supervisor(runs) as supervisor:
        wait_until(lambda: count_steps(run) > 10, runs)
        with pytest.raises(InputError, match="is already running"):
            requests.resume([run], LaunchOptions.from_paths(runs, runs))
        supervisor.kill()
        os.kill(int(read_worker_starts(run)[0][0]), signal.SIGKILL)
    monkeypatch.setattr("clarinet_tui.queue.local.ensure_supervisor", lambda runs_dir: None)
    wait_until(lambda: read_state(run) == "lost", runs)
    requests.resume([run], LaunchOptions.from_paths(runs, runs))
    assert [entry.id for entry in read_queue(runs).waiting] == ["one"]
    with running_supervisor(runs):
        wait_until(lambda: is_empty(runs), runs)
    assert (read_state(run), len(read_worker_starts(run))) == ("finished", 2)


def test_every_run_starts_once_whenever_the_supervisor_is_killed(runs: Path) -> None:
    """Including between taking a run from the queue and starting it, and before its worker holds the lock."""
    rng = random.Random(1)
    queued = [make_fault_run(runs, f"run{number}", "steps=5 late=0.2") for number in range(rounds(3, 20))]
    for run in queued:
        enqueue_directly(run)
        with running_supervisor(runs):
            time.sleep(rng.random() / 2)
    with running_supervisor(runs):
        wait_until(lambda: is_empty(runs), runs, timeout=40.0 * len(queued))
    assert [(last_event(run), len(read_worker_starts(run))) for run in queued] == [("finished", 1)] * len(queued), (
        read_logs(runs)
    )


def test_the_next_supervisor_does_not_signal_a_run_that_is_saving(runs: Path) -> None:
    run = make_fault_run(runs, "one", "steps=100000 saves=1")
    enqueue_directly(run)
    with running_supervisor(runs):
        wait_until(lambda: count_steps(run), runs)
        requests.stop(run)
        pid = int(read_worker_starts(run)[0][0])
        wait_until(lambda: not handles_signal(pid, signal.SIGTERM), runs)
    with running_supervisor(runs):
        wait_until(lambda: is_empty(runs), runs)
    (stopped,) = events_named(run, "stopped")
    assert run.checkpoint.read_text() == str(stopped["iteration"])
    assert read_state(run) == "stopped"


def test_a_run_that_does_not_stop_in_time_is_killed(runs: Path) -> None:
    run = make_fault_run(runs, "one", "steps=100000 saves=1000")
    enqueue_directly(run)
    with running_supervisor(runs):
        wait_until(lambda: count_steps(run), runs)
        requests.stop(run, timeout=0.5)
        assert not requests.wait_until_stopped(run, timeout=0.5)
    assert is_empty(runs)
    assert read_state(run) == "lost"


@pytest.mark.parametrize("code", [1, 77])
def test_a_worker_that_exits_before_writing_its_journal_has_failed_and_is_retried(runs: Path, code: int) -> None:
    run = make_fault_run(runs, "one", f"dies={code}")
    enqueue_directly(run, retries=1)
    with running_supervisor(runs):
        wait_until(lambda: is_empty(runs), runs)
    failed = events_named(run, "failed")
    assert len(failed) == 2
    assert f"the worker ended with exit code {code} before it wrote to its journal" in failed[0]["message"]
    assert read_state(run) == "failed"


def test_a_run_stopped_before_its_worker_starts_has_not_failed(runs: Path) -> None:
    run = make_fault_run(runs, "one", "late=60")
    enqueue_directly(run)
    with running_supervisor(runs):
        wait_until(lambda: read_queue(runs).started, runs)
        requests.stop(run, timeout=0.2)
        assert requests.wait_until_stopped(run, timeout=0.2)
    assert not run.journal.exists()
    assert is_empty(runs)


def test_a_supervisor_exits_when_its_directory_or_lock_is_deleted(runs: Path) -> None:
    with running_supervisor(runs) as supervisor:
        shutil.rmtree(runs)
        assert supervisor.wait(timeout=60) == 0
        assert not runs.exists()
    with running_supervisor(runs) as replaced:
        (runs / SUPERVISOR_LOCK).unlink()
        with running_supervisor(runs):
            assert replaced.wait(timeout=60) == 0
