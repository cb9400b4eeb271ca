"""The lease between nodes: what excludes a second attempt where flock does not reach the first one's node."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.lock import LockHeldError
from clarinet_tui.slurm.attempts import (
    AttemptStarted,
    SlurmJob,
    append_event,
    check_lease,
    hold_lease,
    is_fresh,
    read_events,
)
from clarinet_tui.slurm.job import LOCKED, Worker
from tests.support.forked_python import held_in_process
from tests.support.histories import make_run
from tests.support.slurm_standin import write_program
from tests.support.supervised import wait_until
from tests.support.workers import events_named, start_worker_process

FIRST, SECOND = SlurmJob("1", "0", "clarinet-00000001", "n1"), SlurmJob("2", "0", "clarinet-00000002", "n2")


def make_stale(run: RunDirectory) -> None:
    os.utime(run.slurm_lease, (time.time() - 61, time.time() - 61))


def start_job(run: RunDirectory, job: SlurmJob) -> "subprocess.Popen[str]":
    """Start the process of a job as a node does, with its output in a pipe."""
    names = {"SLURM_ARRAY_JOB_ID": job.array_job, "SLURM_ARRAY_TASK_ID": job.task, "SLURMD_NODENAME": job.node}
    command = [sys.executable, "-P", "-m", "clarinet_tui.slurm.job", run.id, "--runs-dir", str(run.runs_dir)]
    command += ["--data-dir", str(run.runs_dir), "--array", "0", "--max-requeues", "9"]
    return subprocess.Popen(
        command, env={**os.environ, **names, "PYTHONUNBUFFERED": "1"}, stdout=subprocess.PIPE, text=True
    )


def test_a_lease_excludes_others_until_it_is_stale(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    with hold_lease(run, FIRST.owner):
        with pytest.raises(LockHeldError, match="Slurm job 1_0 on n1"), hold_lease(run, SECOND.owner):
            pass
        assert is_fresh(run.slurm_lease)
        make_stale(run)
        assert not is_fresh(run.slurm_lease)
        with hold_lease(run, SECOND.owner):
            assert run.slurm_lease.read_text() == "Slurm job 2_0 on n2\n"
    assert not run.slurm_lease.exists()


def test_a_live_owner_touches_its_lease_and_a_dead_one_does_not(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    with held_in_process(hold_lease, run, FIRST.owner, 0.01):
        os.utime(run.slurm_lease, (0, 0))
        wait_until(lambda: is_fresh(run.slurm_lease), tmp_path)
    with pytest.raises(LockHeldError, match="n1"), hold_lease(run, SECOND.owner):
        pass
    make_stale(run)
    with hold_lease(run, SECOND.owner):
        assert is_fresh(run.slurm_lease)


def test_a_job_waits_for_the_lease_of_another_node(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    with hold_lease(run, FIRST.owner), start_job(run, SECOND) as job:
        assert job.stdout is not None
        assert f"waiting: run {run.id} is locked by Slurm job 1_0 on n1" in job.stdout.readline()
        job.terminate()
        assert "another node still trains run" in job.stdout.read()
        assert job.wait() == LOCKED
    assert read_events(run) == []


def test_a_worker_outside_of_the_job_is_refused(tmp_path: Path) -> None:
    """As `clarinet run --headless --run-id` by hand, while a node trains the run."""
    run = make_run(tmp_path)
    with hold_lease(run, FIRST.owner):
        assert start_worker_process(run).wait(60) == 2
    assert f"run {run.id} is locked by Slurm job 1_0 on n1" in run.log.read_text()
    assert not run.journal.exists()


def test_the_worker_of_the_job_is_accepted_whatever_the_name_of_its_node(tmp_path: Path) -> None:
    run, job = make_run(tmp_path), SlurmJob("4294967295", "999999", "clarinet-00000001", "n" * 64)
    with hold_lease(run, job.owner):
        check_lease(run, job.owner)
        with pytest.raises(LockHeldError, match="Slurm job 4294967295_999999 on nnn"):
            check_lease(run, FIRST.owner)


def test_the_worker_of_a_lease_that_was_taken_over_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a node that could not reach the file system for a minute, and comes back."""
    run = make_run(tmp_path)
    monkeypatch.setattr(sys, "executable", str(write_program(tmp_path, "frozen", "exec sleep 600")))
    with hold_lease(run, FIRST.owner, touch_seconds=0.01) as lease:
        worker = Worker(run, FIRST, tmp_path)
        run.slurm_lease.unlink()  # stale
        with hold_lease(run, SECOND.owner):
            wait_until(lambda: lease.is_taken, tmp_path)
            worker.wait(lease)
            assert worker.process.returncode == -signal.SIGKILL
    assert not run.slurm_lease.exists()


def test_a_run_that_saves_nothing_new_is_not_started_again(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    for _ in range(3):
        append_event(run, AttemptStarted(time=1.0, job="1_0", name=FIRST.name, node="n1", checkpoint=0.0))
    with start_job(run, FIRST) as job:
        assert job.wait(60) == 1
    (failed,) = events_named(run, "failed")
    assert failed["message"].startswith("its last 3 attempts on Slurm saved nothing new")
    assert not run.slurm_lease.exists()


def test_a_named_pipe_in_place_of_a_lease_does_not_block(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    os.mkfifo(run.slurm_lease)
    with pytest.raises(LockHeldError, match="another node"), hold_lease(run, FIRST.owner):
        pass
