"""Everything that ends a job early: each run finishes with the numbers of an uninterrupted one, or can be resumed."""

import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from clarinet_tui.queue.requests import LaunchOptions, resume
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.environment import read_environment
from clarinet_tui.runs.lock import read_lock_owner
from clarinet_tui.slurm.attempts import FollowUp, read_events
from clarinet_tui.slurm.job_file import read_jobs
from core.errors import InputError
from tests.support.slurm import Cluster
from tests.support.slurm_runs import (
    LONG,
    SHORTER,
    assert_like_home,
    assert_no_runs,
    attempts_of,
    follow,
    has_trained,
    job_of,
    submit_runs,
    tiny_configs,
    wait_for_end,
    wait_for_state,
)
from tests.support.workers import events_named, valid_iterations

pytestmark = pytest.mark.slurm


def submit_long_run(folder: Path, node: str = "n2", settings: dict[str, Any] = SHORTER, **options: Any) -> RunDirectory:
    configs = tiny_configs(folder, 1, **settings)
    sbatch = {"nodelist": node, **options.pop("sbatch", {})}
    (run,) = submit_runs(folder / "runs", configs, sbatch=sbatch, **options)
    return run


def interrupt_all(cluster: Cluster, interruptions: Mapping[RunDirectory, Callable[[], object]]) -> None:
    """Interrupt each run as soon as it trains; the runs start side by side."""
    left = dict(interruptions)

    def all_are_interrupted() -> bool:
        for run in [run for run in left if has_trained(run, 5)]:
            left.pop(run)()
        return not left

    cluster.wait_until(all_are_interrupted)


def signal_worker(run: RunDirectory, number: signal.Signals) -> None:
    owner = read_lock_owner(run.lock)
    assert owner is not None
    os.kill(owner.pid, number)


def kill_job(cluster: Cluster, run: RunDirectory) -> None:
    """Kill the process of the run's job and its worker."""
    for pid in cluster.call("pgrep", "--full", f"(worker.main|slurm.job) {run.id}").split():
        os.kill(int(pid), signal.SIGKILL)


def refuse_scontrol(folder: Path) -> str:
    """Return a setup line for nodes that may not requeue jobs."""
    folder.mkdir()
    (folder / "scontrol").write_text("#!/bin/sh\necho 'scontrol: error: Access denied' >&2\nexit 1\n")
    (folder / "scontrol").chmod(0o755)
    return f"export PATH={folder}:$PATH"


def test_killed_cancelled_and_late_runs_continue(cluster: Cluster, tmp_path: Path) -> None:
    """Four interruptions of one job each, side by side: Slurm looks for jobs out of time only every 30 s."""
    late = submit_long_run(tmp_path, "n1", LONG | {"epochs": 10_000}, sbatch={"time": "1"})
    killed, cancelled = submit_long_run(tmp_path), submit_long_run(tmp_path)
    denied = submit_long_run(tmp_path, slurm={"setup": refuse_scontrol(tmp_path / "bin")})
    interrupt_all(
        cluster,
        {
            killed: lambda: signal_worker(killed, signal.SIGKILL),
            cancelled: lambda: cluster.call("scancel", job_of(cancelled).id),
            denied: lambda: cluster.call("scancel", "--batch", "--signal=USR2", job_of(denied).id),
        },
    )
    wait_for_end(cluster, cancelled, state="stopped")
    assert attempts_of(cancelled) == ["ended by Slurm"]
    resume([cancelled], LaunchOptions(cancelled.runs_dir, tmp_path))
    assert job_of(cancelled).state == "PENDING"
    wait_for_end(cluster, killed, denied, cancelled)
    for run in (killed, denied, cancelled):
        assert_like_home(run, tmp_path / "home")
    assert attempts_of(killed) == attempts_of(denied) == ["requeued", "finished"]
    assert any(isinstance(event, FollowUp) for event in read_events(denied))
    assert attempts_of(cancelled) == ["ended by Slurm", "finished"]

    wait_for_state(cluster, late, "queued")
    assert attempts_of(late) == ["requeued"]
    (stopped,) = events_named(late, "stopped")
    assert valid_iterations(late) == list(range(1, stopped["iteration"] + 1))


def test_preempted_runs_and_runs_of_a_failed_node_continue(cluster: Cluster, tmp_path: Path) -> None:
    preempted = submit_long_run(tmp_path)
    (moved,) = submit_runs(tmp_path / "runs", tiny_configs(tmp_path, 1, **SHORTER), sbatch={"exclude": "n2"})
    urgent: list[str] = []

    def fail_node() -> None:
        cluster.call("scontrol", "update", "NodeName=n1", "State=DOWN", "Reason=test")
        signal_worker(moved, signal.SIGKILL)
        cluster.call("scontrol", "update", f"JobId={job_of(moved).id}", "ExcNodeList=")

    def preempt() -> None:
        urgent.append(cluster.submit("--partition=high", "--nodelist=n2", "--exclusive", command="true"))

    try:
        interrupt_all(cluster, {preempted: preempt, moved: fail_node})
        cluster.wait_until(lambda: cluster.job_state(urgent[0]) == "COMPLETED")
        wait_for_state(cluster, preempted, "queued")
        wait_for_end(cluster, preempted, moved)
        for run in (preempted, moved):
            assert_like_home(run, tmp_path / "home")
    finally:
        cluster.call("scontrol", "update", "NodeName=n1", "State=RESUME")
    assert attempts_of(preempted) == ["ended by Slurm", "finished"]
    assert len(events_named(preempted, "resumed")) == 1
    assert read_environment(moved)["host"] == "node2"


def test_jobs_survive_a_restart_of_the_controller_and_may_be_forgotten(cluster: Cluster, tmp_path: Path) -> None:
    """A job whose end the controller does not remember leaves a lost run, which can be resumed."""
    configs = tiny_configs(tmp_path, 1)
    kept, forgotten = submit_long_run(tmp_path), submit_long_run(tmp_path, slurm={"max_requeues": 0})
    frozen = {kept: lambda: signal_worker(kept, signal.SIGSTOP), forgotten: lambda: kill_job(cluster, forgotten)}
    interrupt_all(cluster, frozen)  # squeue tries for a while, in which the run would end
    job = job_of(forgotten).id
    with cluster.no_controller(min_job_age=2):
        assert follow(kept) == "running"
        assert "controller" in read_jobs(kept.runs_dir).problem
        with pytest.raises(InputError, match=r"slurm: .*controller"):
            submit_runs(tmp_path / "refused", configs)
    assert_no_runs(tmp_path / "refused")
    cluster.wait_until(lambda: cluster.call("squeue", "-h", "-o", "%j").split() == [job_of(kept).name])
    signal_worker(kept, signal.SIGCONT)
    cluster.wait_until(lambda: cluster.job_state(job) == "")
    os.utime(forgotten.path / "slurm.lease", (0, 0))  # a minute later
    wait_for_end(cluster, forgotten, state="lost")
    resume([forgotten], LaunchOptions(forgotten.runs_dir, tmp_path))
    wait_for_end(cluster, kept, forgotten)
    for run in (kept, forgotten):
        assert_like_home(run, tmp_path / "home")
    assert attempts_of(kept) == ["finished"]


def test_a_python_that_does_not_start_is_named_in_the_run(cluster: Cluster, tmp_path: Path) -> None:
    (run,) = submit_runs(tmp_path / "runs", tiny_configs(tmp_path, 1), slurm={"setup": "export PYTHONHASHSEED=wrong"})
    wait_for_end(cluster, run, state="failed")
    (failed,) = events_named(run, "failed")
    assert "does not start or has no Clarinet" in failed["message"]
