"""Requests for runs on a real Slurm: hold, release, cancel, stop and remove; and what Slurm refuses."""

import json
import os
import shutil
import signal
from pathlib import Path

import pytest

from clarinet_tui.doctor.checks import check_controller, check_node, probe_lock_on_node
from clarinet_tui.history.trash import remove_run
from clarinet_tui.place import LaunchOptions, StopResult
from clarinet_tui.queue import requests
from clarinet_tui.runs.directory import list_run_ids
from clarinet_tui.slurm.attempts import last_submission
from clarinet_tui.slurm.jobs import describe_wait, read_jobs, refresh_jobs
from core.errors import InputError
from tests.support.cli import invoke
from tests.support.disks import fill, small_disk
from tests.support.slurm import Cluster
from tests.support.slurm_runs import assert_no_runs, follow, job_of, submit_runs, tiny_configs
from tests.support.slurm_standin import write_program

pytestmark = pytest.mark.slurm


def block(cluster: Cluster) -> None:
    """Occupy both nodes, so that other jobs wait."""
    job = cluster.submit("--partition=high", "--nodes=2", "--exclusive")
    cluster.wait_until(lambda: cluster.job_state(job) == "RUNNING")


def test_a_waiting_job_shows_its_reason_and_is_cancelled_with_its_run(cluster: Cluster, tmp_path: Path) -> None:
    block(cluster)
    first, second = submit_runs(tmp_path / "runs", tiny_configs(tmp_path, 2))
    cluster.wait_until(lambda: follow(first) == "queued" and job_of(first).reason in ("Resources", "Priority"))
    listed = json.loads(invoke(tmp_path / "runs", "queue", "--json").stdout)
    assert [(row["id"], row["state"], row["device"], row["job"]) for row in listed] == [
        (run.id, "waiting", "slurm", job_of(run).id) for run in (first, second)
    ]
    assert listed[0]["waits_for"] == describe_wait(job_of(first))
    requests.hold(first.runs_dir, [second.id], True)
    with pytest.raises(InputError, match=f"run {second.id}: cannot be moved: it is paused"):
        requests.move(first.runs_dir, [second.id], 0)
    with pytest.raises(InputError, match=f"already queued as Slurm job {job_of(first).id}"):
        requests.resume([first], LaunchOptions.from_paths(tmp_path, tmp_path))
    first_job = job_of(first).id
    assert requests.stop(first) is StopResult.DEQUEUED
    remove_run(second)
    assert not read_jobs(tmp_path / "runs").jobs
    assert last_submission(first).startswith("clarinet-")
    assert cluster.job_state(first_job) == "CANCELLED"


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ("partition=nowhere", "sbatch: invalid partition specified: nowhere"),
        ("frobnicate=1", "sbatch: unrecognized option '--frobnicate=1'"),
        ("mem=plenty", "sbatch: Invalid --mem specification"),
    ],
)
def test_a_refused_option_changes_nothing(cluster: Cluster, tmp_path: Path, pair: str, message: str) -> None:
    result = invoke(
        tmp_path / "runs", "sweep", "--preset", "smoke", "--seeds", "1..3", "--on", "slurm", "--slurm", pair
    )
    assert message in str(result.exception)
    assert_nothing_left(cluster, tmp_path / "runs")


def assert_nothing_left(cluster: Cluster, runs_dir: Path) -> None:
    assert_no_runs(runs_dir)
    cluster.wait_until(lambda: not cluster.call("squeue", "-h").strip())


def replace_program(monkeypatch: pytest.MonkeyPatch, folder: Path, name: str, instead: str) -> None:
    """Put a program of Slurm before the real one, which it becomes unless `instead` ends it."""
    write_program(folder, name, f'{instead}\nexec {shutil.which(name)} "$@"')
    if str(folder) not in os.environ["PATH"]:
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def test_an_array_that_is_refused_takes_the_others_back(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second sbatch fails: the first array is cancelled before any of its jobs has started.

    If the controller does not answer then, it is cancelled as soon as it does.
    """
    refusal = 'case "$*" in *1.sh) echo "sbatch: error: Job submit limit exceeded" >&2; exit 1;; esac'
    replace_program(monkeypatch, tmp_path / "bin", "sbatch", refusal)
    with pytest.raises(InputError, match="Job submit limit exceeded"):
        submit_runs(tmp_path / "runs", tiny_configs(tmp_path, 3))
    assert_nothing_left(cluster, tmp_path / "runs")

    replace_program(monkeypatch, tmp_path / "bin", "scancel", "exit 1")
    with pytest.raises(InputError, match="Job submit limit exceeded"):
        submit_runs(tmp_path / "runs", tiny_configs(tmp_path, 3))
    assert "scancel" in refresh_jobs(tmp_path / "runs", force=True).problem
    assert cluster.call("squeue", "-h", "-o", "%r").split() == ["JobHeldUser"]
    (tmp_path / "bin" / "scancel").unlink()
    assert refresh_jobs(tmp_path / "runs", force=True).unfinished == ()
    assert_nothing_left(cluster, tmp_path / "runs")


def test_a_submission_whose_process_dies_is_taken_back(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_program(monkeypatch, tmp_path / "bin", "sbatch", 'case "$*" in *1.sh) kill -9 $PPID; exit 1;; esac')
    configs = tiny_configs(tmp_path, 3)
    pid = os.fork()
    if pid == 0:
        try:
            submit_runs(tmp_path / "runs", configs)
        finally:
            os._exit(0)
    assert os.WTERMSIG(os.waitpid(pid, 0)[1]) == signal.SIGKILL
    assert cluster.call("squeue", "-h", "-o", "%r").split() == ["JobHeldUser"]
    jobs = refresh_jobs(tmp_path / "runs", force=True)
    assert (jobs.jobs, jobs.unfinished) == ((), ())
    cluster.wait_until(lambda: not cluster.call("squeue", "-h").strip())
    assert len(list_run_ids(tmp_path / "runs")) == 3


def test_a_full_disk_is_named(cluster: Cluster, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "1m") as disk:
        filler = fill(disk)
        with pytest.raises(InputError, match="No space left on device"):
            submit_runs(disk / "runs", tiny_configs(tmp_path, 3))
        filler.unlink()
        assert_nothing_left(cluster, disk / "runs")


def test_slurm_that_is_not_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="slurm: scontrol is not installed here: use a login node"):
        submit_runs(tmp_path / "runs", tiny_configs(tmp_path, 1))
    assert not (tmp_path / "runs").exists()


def test_jobs_of_others_are_not_asked_for(cluster: Cluster, tmp_path: Path) -> None:
    foreign = cluster.submit("--array=0-1", "--hold")
    (run,) = submit_runs(tmp_path / "runs", tiny_configs(tmp_path, 1), paused=True)
    jobs = refresh_jobs(run.runs_dir, force=True).jobs
    assert [job.run for job in jobs] == [run.id]
    assert jobs[0].is_held
    assert not jobs[0].id.startswith(f"{foreign}_")


def test_doctor_asks_a_node(cluster: Cluster, tmp_path: Path) -> None:
    assert check_controller().message == "2 partitions: main, high"
    assert check_node(tmp_path).message == f"sees {tmp_path} and its locks"
    with small_disk(tmp_path / "hidden", "1m") as hidden:  # mounted after the second node has started
        assert probe_lock_on_node(hidden / "absent") == "missing"
