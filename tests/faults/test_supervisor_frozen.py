"""A supervisor that is frozen or dies: stopping a run ends in time without it, and the next command replaces it."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from clarinet_tui.doctor.checks import check_supervisor
from clarinet_tui.place import StopResult
from clarinet_tui.queue import requests
from clarinet_tui.queue.local import ensure_supervisor_if_needed
from clarinet_tui.queue.queue_file import lock_queue, read_queue, update_queue
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.lock import LockHeldError
from tests.support.forked_python import held_in_process
from tests.support.supervised import (
    count_steps,
    enqueue_directly,
    last_event,
    make_fault_run,
    running_supervisor,
    supervisor_pid,
    wait_until,
)


@contextmanager
def training(runs: Path, behaviour: str = "steps=100000") -> Iterator[tuple[RunDirectory, "subprocess.Popen[bytes]"]]:
    """A run that trains, and its supervisor."""
    run = make_fault_run(runs, "one", behaviour)
    enqueue_directly(run)
    with running_supervisor(runs) as supervisor:
        wait_until(lambda: count_steps(run), runs)
        yield run, supervisor


def test_a_run_stops_in_time_although_its_supervisor_is_frozen(runs: Path) -> None:
    with training(runs) as (run, supervisor):
        supervisor.send_signal(signal.SIGSTOP)
        assert requests.stop(run, timeout=1.0) is StopResult.REQUESTED
        assert requests.wait_until_stopped(run, timeout=1.0), "it was asked to save"
        assert last_event(run) == "stopped"
        assert read_queue(runs).entries == ()


def test_a_run_that_does_not_save_is_killed_although_its_supervisor_is_frozen(runs: Path) -> None:
    with training(runs, "steps=100000 saves=1000") as (run, supervisor):
        supervisor.send_signal(signal.SIGSTOP)
        requests.stop(run, timeout=0.5)
        assert not requests.wait_until_stopped(run, timeout=0.5)
        assert read_queue(runs).entries == ()


def test_a_run_stops_in_time_although_its_supervisor_dies_meanwhile(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with training(runs) as (run, _):
        pass
    monkeypatch.setattr("clarinet_tui.queue.local.ensure_supervisor", lambda runs_dir: None)  # it died after this call
    requests.stop(run, timeout=1.0)
    assert requests.wait_until_stopped(run, timeout=1.0)
    assert read_queue(runs).entries == ()


def test_a_run_stops_although_the_queue_stays_locked(runs: Path) -> None:
    with training(runs) as (run, supervisor), held_in_process(lock_queue, runs):
        supervisor.send_signal(signal.SIGSTOP)
        assert requests.stop(run, timeout=0.1) is StopResult.REQUESTED
        assert requests.wait_until_stopped(run, timeout=1.0)
        assert last_event(run) == "stopped"


def test_a_wait_for_the_queue_has_a_limit_and_names_the_holder(runs: Path) -> None:
    with held_in_process(lock_queue, runs) as holder:
        holder.send_signal(signal.SIGSTOP)
        with pytest.raises(LockHeldError, match=f"the queue is locked by process {holder.pid} on "):
            update_queue(runs, lambda queue: queue.with_paused(True), wait=0.3)
    assert update_queue(runs, lambda queue: queue.with_paused(True)).paused


def test_a_frozen_supervisor_is_noticed_and_replaced(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clarinet_tui.queue.supervisor.UNRESPONSIVE_AFTER", 3.0)
    with training(runs) as (run, supervisor):
        assert check_supervisor(runs).verdict == "good"
        ensure_supervisor_if_needed(runs)
        assert supervisor.poll() is None
        supervisor.send_signal(signal.SIGSTOP)
        wait_until(lambda: check_supervisor(runs).verdict == "bad", runs)
        assert f"process {supervisor.pid} " in check_supervisor(runs).message
        ensure_supervisor_if_needed(runs)
        assert supervisor.wait() == -signal.SIGKILL
        wait_until(lambda: supervisor_pid(runs) is not None, runs)
        requests.stop(run)
        wait_until(lambda: not read_queue(runs).entries, runs)
    assert last_event(run) == "stopped"
