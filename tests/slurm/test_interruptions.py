"""Everything that ends a job early: each run finishes with the numbers of an uninterrupted one, or can be resumed."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from clarinet_tui.queue.requests import LaunchOptions, resume
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.lock import read_lock_owner
from clarinet_tui.slurm.job_file import read_jobs
from tests.support.slurm import Cluster
from tests.support.slurm_runs import (
    LONG,
    assert_like_home,
    attempts_of,
    follow,
    job_of,
    submit_runs,
    tiny_configs,
    wait_for_end,
    wait_for_iterations,
    wait_for_state,
)
from tests.support.workers import events_named, valid_iterations

pytestmark = pytest.mark.slurm


def start_long_run(cluster: Cluster, folder: Path, epochs: int = 15, **options: Any) -> RunDirectory:
    """Submit a run on the second node, and wait until it trains."""
    sbatch = {"nodelist": "n2", **options.pop("sbatch", {})}
    (run,) = submit_runs(
        folder / "runs", tiny_configs(folder, 1, **LONG | {"epochs": epochs}), sbatch=sbatch, **options
    )
    wait_for_iterations(cluster, run, 5)
    return run


def kill_worker(run: RunDirectory) -> None:
    owner = read_lock_owner(run.lock)
    assert owner is not None
    os.kill(owner.pid, signal.SIGKILL)


def test_a_preempted_run_continues(cluster: Cluster, tmp_path: Path) -> None:
    run = start_long_run(cluster, tmp_path, epochs=40)
    urgent = cluster.submit("--partition=high", "--nodelist=n2", "--exclusive", command="true")
    cluster.wait_until(lambda: cluster.job_state(urgent) == "COMPLETED")
    wait_for_state(cluster, run, "queued")
    wait_for_end(cluster, run)
    assert attempts_of(run) == ["ended by Slurm", "finished"]
    assert len(events_named(run, "resumed")) == 1
    assert_like_home(run, tmp_path / "home")


def test_a_killed_worker_is_requeued(cluster: Cluster, tmp_path: Path) -> None:
    run = start_long_run(cluster, tmp_path)
    kill_worker(run)
    wait_for_end(cluster, run)
    assert attempts_of(run) == ["requeued", "finished"]
    assert_like_home(run, tmp_path / "home")


def test_a_run_out_of_time_saves_and_is_requeued(cluster: Cluster, tmp_path: Path) -> None:
    """Slurm looks for jobs out of time every 30 s; its own limits are in minutes."""
    run = start_long_run(cluster, tmp_path, epochs=10_000)
    cluster.call("scontrol", "update", f"JobId={job_of(run).id}", "EndTime=now")
    wait_for_state(cluster, run, "queued")
    assert attempts_of(run) == ["requeued"]
    (stopped,) = events_named(run, "stopped")
    iterations = valid_iterations(run)
    assert iterations == list(range(1, stopped["iteration"] + 1))


def test_a_cancelled_run_is_stopped_and_can_be_resumed(cluster: Cluster, tmp_path: Path) -> None:
    run = start_long_run(cluster, tmp_path)
    cluster.call("scancel", job_of(run).id)
    wait_for_end(cluster, run, "stopped")
    assert attempts_of(run) == ["ended by Slurm"]
    resume([run], LaunchOptions(run.runs_dir, run.runs_dir.parent))
    assert job_of(run).state == "PENDING"
    wait_for_end(cluster, run)
    assert_like_home(run, tmp_path / "home")


def test_a_run_whose_node_fails_continues_on_the_other(cluster: Cluster, tmp_path: Path) -> None:
    (run,) = submit_runs(tmp_path / "runs", tiny_configs(tmp_path, 1, **LONG | {"epochs": 40}))
    wait_for_iterations(cluster, run, 5)
    node = cluster.call("squeue", "-h", "-j", job_of(run).id, "-o", "%N").strip()
    owner = read_lock_owner(run.lock)
    assert owner is not None
    cluster.call("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=test")
    os.kill(owner.pid, signal.SIGKILL)
    try:
        wait_for_end(cluster, run)
    finally:
        cluster.call("scontrol", "update", f"NodeName={node}", "State=RESUME")
    assert_like_home(run, tmp_path / "home")


def test_jobs_survive_a_restart_of_the_controller(cluster: Cluster, tmp_path: Path) -> None:
    run = start_long_run(cluster, tmp_path, epochs=40)
    cluster.kill("slurmctld")
    try:
        assert follow(run) == "running"
        assert "controller" in read_jobs(run.runs_dir).problem
    finally:
        cluster.start_controller()
        cluster.wait_for_nodes()
    wait_for_end(cluster, run)
    assert_like_home(run, tmp_path / "home")


def test_a_forgotten_job_is_lost_and_can_be_resumed(cluster: Cluster, tmp_path: Path) -> None:
    run = start_long_run(cluster, tmp_path, slurm={"max_requeues": 0})
    job = job_of(run)
    pid = int(cluster.call("pgrep", "--full", f"clarinet_tui.slurm.job {run.id}").split()[0])
    os.kill(pid, signal.SIGKILL)
    kill_worker(run)
    cluster.configure(min_job_age=2)
    cluster.call("scontrol", "reconfigure")
    try:
        cluster.wait_until(lambda: cluster.job_state(job.id) == "")
    finally:
        cluster.configure(min_job_age=300)
        cluster.call("scontrol", "reconfigure")
    os.utime(run.path / "slurm.lease", (0, 0))  # a minute later
    wait_for_end(cluster, run, "lost")
    resume([run], LaunchOptions(run.runs_dir, run.runs_dir.parent))
    wait_for_end(cluster, run)
    assert_like_home(run, tmp_path / "home")


def test_a_python_that_does_not_start_is_named_in_the_run(cluster: Cluster, tmp_path: Path) -> None:
    (run,) = submit_runs(tmp_path / "runs", tiny_configs(tmp_path, 1), slurm={"setup": "export PYTHONHASHSEED=wrong"})
    wait_for_end(cluster, run, "failed")
    (failed,) = events_named(run, "failed")
    assert "does not start or has no Clarinet" in failed["message"]


def test_a_node_that_may_not_requeue_submits_a_follow_up_job(cluster: Cluster, tmp_path: Path) -> None:
    refusal = tmp_path / "bin" / "scontrol"
    refusal.parent.mkdir()
    refusal.write_text("#!/bin/sh\necho 'scontrol: error: Access denied' >&2\nexit 1\n")
    refusal.chmod(0o755)
    run = start_long_run(cluster, tmp_path, slurm={"setup": f"export PATH={refusal.parent}:$PATH"})
    first = job_of(run).id
    cluster.call("scancel", "--batch", "--signal=USR2", first)
    wait_for_end(cluster, run)
    assert attempts_of(run) == ["requeued", "finished"]
    assert_like_home(run, tmp_path / "home")
