"""Locks that name another process: a reused pid, a copy, another machine, a worker that is already stopping."""

import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from clarinet_tui.doctor.repair import repair
from clarinet_tui.history import trash
from clarinet_tui.place import LaunchOptions, StopResult
from clarinet_tui.queue import requests
from clarinet_tui.queue.queue_file import read_queue
from clarinet_tui.queue.supervisor import SUPERVISOR_LOCK, LocalExecutor, find_supervisor
from clarinet_tui.runs.directory import RunDirectory, find_worker
from clarinet_tui.runs.lock import (
    LockOwner,
    current_process,
    hold_lock,
    is_alive,
    is_held_by,
    is_locked,
    process_start,
    request_stop,
    signal_holder,
)
from core.errors import InputError
from tests.support.events import started, step
from tests.support.histories import write_events, write_lock
from tests.support.supervised import (
    count_steps,
    enqueue_directly,
    last_event,
    make_fault_run,
    read_state,
    read_worker_starts,
    running_supervisor,
    supervisor_pid,
    wait_until,
)


@contextmanager
def unrelated_process() -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen(["sleep", "600"]) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def unqueued_worker(run: RunDirectory) -> Iterator["subprocess.Popen[bytes]"]:
    """Start a worker as a batch job does, and wait until it trains."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-P", "-m", "tests.support.fault_worker", run.id]
    command += ["--runs-dir", str(run.runs_dir), "--device", "cpu"]
    with subprocess.Popen(command, env=environment) as worker:
        try:
            wait_until(lambda: count_steps(run), run.runs_dir)
            yield worker
        finally:
            worker.kill()


def write_owner(lock: Path, pid: int, earlier: float = 0.0) -> LockOwner:
    """Write the owner of a lock: the process with this pid, or one that started this number of ticks earlier."""
    start = process_start(pid)
    assert start is not None
    owner = msgspec.structs.replace(current_process(), pid=pid, start=start - earlier)
    lock.write_bytes(msgspec.json.encode(owner) + b"\n")
    return owner


def test_a_process_with_the_workers_old_pid_is_not_signalled(runs: Path) -> None:
    run = make_fault_run(runs, "one")
    write_events(run, [started(), step(1)])
    with unrelated_process() as process:
        owner = write_owner(run.lock, process.pid, earlier=1.0)
        assert is_alive(owner) is False
        assert not signal_holder(run.lock, owner, signal.SIGKILL)
        assert not request_stop(run.lock, owner)
        assert read_state(run) == "lost"
        with pytest.raises(InputError, match="run one: is not running"):
            requests.stop(run)
        enqueue_directly(run, device_key="cpu", stop_timeout=0.0)
        with running_supervisor(runs):
            wait_until(lambda: not read_queue(runs).entries, runs)
            requests.resume([run], LaunchOptions.from_paths(runs, runs))
        assert process.poll() is None
        assert read_state(run) == "queued" or read_worker_starts(run)


def test_a_copied_directory_signals_no_process_of_the_original(runs: Path, tmp_path: Path) -> None:
    run, copies = make_fault_run(runs, "one", "steps=100000"), tmp_path / "copies"
    with unqueued_worker(run) as process, hold_lock(runs / SUPERVISOR_LOCK, "the queue"):
        process.send_signal(signal.SIGSTOP)  # no file is written while it is copied
        shutil.copytree(runs, copies)
        process.send_signal(signal.SIGCONT)
        copy, worker = RunDirectory(copies, "one"), find_worker(run)
        assert worker is not None
        assert worker.pid == process.pid
        assert find_supervisor(runs)
        assert (find_worker(copy), find_supervisor(copies)) == (None, None)
        assert not signal_holder(copy.lock, worker, signal.SIGKILL)
        assert not LocalExecutor().stop(copy)
        LocalExecutor().kill(copy)
        with pytest.raises(InputError, match="run one: is not running"):
            requests.stop(copy)
        assert not requests.wait_until_stopped(copy, 0.0)
        assert read_state(copy) == "lost"
        requests.resume([copy], LaunchOptions.from_paths(copies, copies, paused=True))
        assert any("released the lock of process" in done for done in repair(copies))
        requests.cancel(copies, ["one"])
        shutil.copyfile(run.lock, copy.lock)
        trash.remove_run(copy)
        assert process.poll() is None
        assert requests.stop(run) is StopResult.REQUESTED
        assert requests.wait_until_stopped(run, 30.0)


def test_a_lock_that_another_process_has_just_taken_does_not_name_its_holder(runs: Path) -> None:
    """It names the process of the original until the new holder has written its own identity."""
    run = make_fault_run(runs, "one")
    with unrelated_process() as process, run.lock.open("w") as file:
        owner = write_owner(run.lock, process.pid)
        assert is_held_by(run.lock, owner) is False
        fcntl.flock(file, fcntl.LOCK_EX)
        assert is_locked(run.lock)
        assert is_held_by(run.lock, owner) is False
        assert not signal_holder(run.lock, owner, signal.SIGKILL)
        assert is_held_by(run.lock, write_owner(run.lock, os.getpid())) is True


def test_a_process_with_the_supervisors_old_pid_is_not_the_supervisor(runs: Path) -> None:
    run = make_fault_run(runs, "one", "steps=3")
    enqueue_directly(run)
    with unrelated_process() as process:
        write_owner(runs / SUPERVISOR_LOCK, process.pid, earlier=1.0)
        assert supervisor_pid(runs) is None
        with running_supervisor(runs):
            wait_until(lambda: not read_queue(runs).entries, runs)
        assert process.poll() is None
    assert (last_event(run), len(read_worker_starts(run))) == ("finished", 1)


def test_a_lock_of_another_host_counts_as_running_while_the_journal_is_fresh(runs: Path) -> None:
    run = make_fault_run(runs, "one")
    write_events(run, [started(), step(1)])
    write_lock(run, host="elsewhere", boot="another")
    options = LaunchOptions.from_paths(runs, runs, paused=True)
    with pytest.raises(InputError, match=r"is already running as process [0-9]+ on elsewhere"):
        requests.resume([run], options)
    with pytest.raises(InputError, match=r"is running on elsewhere as process [0-9]+: stop it there"):
        requests.stop(run)
    os.utime(run.journal, (1.0, 1.0))
    with running_supervisor(runs):
        requests.resume([run], options)
    assert run.id in read_queue(runs)


def test_several_stop_requests_send_one_signal(runs: Path) -> None:
    """The worker was not started from the queue: `clarinet stop` signals it directly."""
    run = make_fault_run(runs, "one", "steps=100000 saves=0.5")
    with unqueued_worker(run) as worker:
        for _ in range(3):
            assert requests.stop(run) is StopResult.REQUESTED
        assert requests.wait_until_stopped(run, 30.0)
        assert worker.wait(timeout=60) == 128 + signal.SIGTERM
    assert last_event(run) == "stopped"


def test_a_changed_host_name_does_not_make_the_machine_foreign(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lost, stopped = (make_fault_run(runs, name, "steps=100000") for name in ("one", "two"))
    with unqueued_worker(lost) as one, unqueued_worker(stopped) as two:
        monkeypatch.setattr(socket, "gethostname", lambda: "renamed")
        one.kill()
        one.wait()
        assert read_state(lost) == "lost"
        requests.resume([lost], LaunchOptions.from_paths(runs, runs, paused=True))
        assert requests.stop(stopped) is StopResult.REQUESTED
        assert requests.wait_until_stopped(stopped, 30.0)
        assert two.wait(timeout=60) == 128 + signal.SIGTERM
