"""Everything that ends a job early: each run finishes with the numbers of an uninterrupted one, or can be resumed."""

import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from clarinet_tui.place import LaunchOptions
from clarinet_tui.queue import requests
from clarinet_tui.queue.requests import resume
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.environment import read_environment
from clarinet_tui.slurm.jobs import read_jobs
from core.errors import InputError
from tests.support.cli import invoke
from tests.support.slurm import Cluster
from tests.support.slurm_runs import (
    LONG,
    SHORTER,
    assert_like_home,
    assert_no_runs,
    attempts_of,
    follow,
    has_trained,
    hurry,
    job_of,
    signal_job,
    signal_worker,
    submit_long_run,
    submit_runs,
    tiny_configs,
    wait_for_end,
)
from tests.support.workers import events_named

pytestmark = pytest.mark.slurm


def interrupt_all(
    cluster: Cluster, interruptions: Mapping[RunDirectory, Callable[[], object]], attempt: int = 1
) -> None:
    """Interrupt each run as soon as this attempt trains; the runs start side by side."""
    left = dict(interruptions)

    def all_are_interrupted() -> bool:
        for run in [run for run in left if has_trained(run, 5, attempt)]:
            left.pop(run)()
        if attempt > 1 and left:
            hurry(cluster, *left)
        return not left

    cluster.wait_until(all_are_interrupted)


def test_stopped_cancelled_killed_and_preempted_runs_continue(cluster: Cluster, tmp_path: Path) -> None:
    """Slurm wakes the processes of a job that it cancels, so that even a frozen run saves itself."""
    frozen = submit_long_run(tmp_path, "n1", LONG)
    twice = SHORTER | {"epochs": 200}  # long enough to be interrupted a second time
    stopped, killed = submit_long_run(tmp_path, "n1", twice), submit_long_run(tmp_path, settings=twice)

    def freeze_and_stop() -> None:
        signal_job(cluster, frozen, signal.SIGSTOP)
        requests.stop(frozen, 0)

    interruptions: dict[RunDirectory, Callable[[], object]] = {
        killed: lambda: signal_worker(killed, signal.SIGKILL),
        stopped: lambda: requests.stop(stopped, 60),
    }
    interrupt_all(cluster, interruptions)
    interrupt_all(cluster, {frozen: freeze_and_stop})  # last: it takes seconds, in which the others would end
    assert requests.wait_until_stopped(stopped, 60)
    assert follow(stopped) == "stopped"
    resume([stopped], LaunchOptions.from_paths(stopped.runs_dir, tmp_path))
    assert job_of(stopped).state == "PENDING"
    interruptions = {
        stopped: lambda: cluster.call("scancel", job_of(stopped).id),
        killed: lambda: preempt(cluster, "n2"),
    }
    interrupt_all(cluster, interruptions, attempt=2)
    wait_for_end(cluster, stopped, frozen, state="stopped")
    resume([stopped], LaunchOptions.from_paths(stopped.runs_dir, tmp_path))
    wait_for_end(cluster, stopped, killed)
    for run in (stopped, killed):
        assert_like_home(run, tmp_path / "home")
    assert attempts_of(stopped) == ["stopped", "ended by Slurm", "finished"]
    assert attempts_of(killed) == ["requeued", "ended by Slurm", "finished"]
    log = invoke(killed.runs_dir, "logs", killed.id, "--lines", "1000").stdout
    assert [text in log for text in ("epoch 200", "Slurm job", "DUE TO PREEMPTION")] == [True] * 3


def preempt(cluster: Cluster, node: str) -> None:
    """Preempt all jobs of a node by a short one that needs all of it."""
    urgent = cluster.submit("--partition=high", f"--nodelist={node}", "--exclusive", command="true")
    cluster.wait_until(lambda: cluster.job_state(urgent) == "COMPLETED")


def test_runs_survive_a_restart_of_the_controller_a_failed_node_and_a_forgotten_job(
    cluster: Cluster, tmp_path: Path
) -> None:
    """A job whose end the controller does not remember leaves a lost run, which can be resumed."""
    (moved,) = submit_runs(tmp_path / "runs", tiny_configs(tmp_path, 1, **SHORTER), sbatch={"exclude": "n2"})
    forgotten = submit_long_run(tmp_path, slurm={"max_requeues": 0})
    interruptions: dict[RunDirectory, Callable[[], object]] = {
        moved: lambda: signal_worker(moved, signal.SIGSTOP),  # squeue tries for a while, in which the run would end
        forgotten: lambda: signal_job(cluster, forgotten, signal.SIGKILL),
    }
    interrupt_all(cluster, interruptions)
    job = job_of(forgotten).id
    with cluster.no_controller(min_job_age=2):
        assert follow(moved) == "running"
        assert "controller" in read_jobs(moved.runs_dir).problem
        with pytest.raises(InputError, match=r"slurm: .*controller"):
            submit_runs(tmp_path / "refused", tiny_configs(tmp_path, 1))
    assert_no_runs(tmp_path / "refused")
    cluster.wait_until(lambda: cluster.call("squeue", "-h", "-o", "%j").split() == [job_of(moved).name])
    assert attempts_of(moved) == []
    try:
        cluster.call("scontrol", "update", "NodeName=n1", "State=DOWN", "Reason=test")
        signal_worker(moved, signal.SIGKILL)
        cluster.call("scontrol", "update", f"JobId={job_of(moved).id}", "ExcNodeList=")
        cluster.wait_until(lambda: cluster.job_state(job) == "")
        os.utime(forgotten.path / "slurm.lease", (0, 0))  # a minute later
        wait_for_end(cluster, forgotten, state="lost")
        resume([forgotten], LaunchOptions.from_paths(forgotten.runs_dir, tmp_path))
        wait_for_end(cluster, moved, forgotten)
    finally:
        cluster.call("scontrol", "update", "NodeName=n1", "State=RESUME")
    for run in (moved, forgotten):
        assert_like_home(run, tmp_path / "home")
    assert read_environment(moved)["host"] == "node2"


def test_a_python_that_does_not_start_is_named_in_the_run(cluster: Cluster, tmp_path: Path) -> None:
    (run,) = submit_runs(tmp_path / "runs", tiny_configs(tmp_path, 1), slurm={"setup": "export PYTHONHASHSEED=wrong"})
    wait_for_end(cluster, run, state="failed")
    (failed,) = events_named(run, "failed")
    assert "does not start or has no Clarinet" in failed["message"]
