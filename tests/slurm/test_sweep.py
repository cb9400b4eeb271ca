"""Sweeps on a real Slurm of two nodes: arrays, states, and the numbers of the same runs at home."""

import os
import signal
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from clarinet_tui.history.database import Database
from clarinet_tui.history.reindex import reindex
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.environment import read_environment
from clarinet_tui.slurm.attempts import FollowUp, read_events
from clarinet_tui.slurm.jobs import read_jobs
from core.config import RunConfig
from tests.support.slurm import Cluster
from tests.support.slurm_runs import (
    assert_like_home,
    attempts_of,
    refuse_scontrol,
    signal_worker,
    submit_long_run,
    submit_runs,
    tiny_configs,
    wait_for_end,
    wait_for_iterations,
    wake_when_signalled,
)
from tests.support.workers import events_named

pytestmark = pytest.mark.slurm


def test_a_split_array_and_a_late_run_have_the_numbers_of_home(cluster: Cluster, tmp_path: Path) -> None:
    """The sender of the sweep is gone. Arrays have at most two runs here, and each node has room for two of these.

    The late run is frozen beside them until its time is over, which takes a minute. It may not requeue its job.
    """
    runs_dir, configs = tmp_path / "runs", tiny_configs(tmp_path, 12, epochs=1)
    late = submit_long_run(tmp_path, "n1", sbatch={"time": "1"}, slurm={"setup": refuse_scontrol(tmp_path / "bin")})
    wait_for_iterations(cluster, late, 5)
    signal_worker(late, signal.SIGSTOP)
    submit_and_die(runs_dir, configs)
    jobs = [job for job in read_jobs(runs_dir).jobs if job.run != late.id]
    arrays = [job.id.partition("_")[0] for job in jobs]
    assert [arrays.count(array) for array in dict.fromkeys(arrays)] == [2] * 6
    runs = [RunDirectory(runs_dir, job.run) for job in jobs]
    for run in runs:
        cluster.wait_until(partial(events_named, run, "finished"))
    assert not (runs_dir / "clarinet.db").exists()  # nodes only write journals
    wait_for_end(cluster, *runs)
    hosts = {read_environment(run)["host"] for run in runs}
    assert len(hosts) == 2
    assert "node2" in hosts
    for run in runs:
        assert_like_home(run, tmp_path / "home")
    wake_when_signalled(cluster, late, signal.SIGUSR1)
    wait_for_end(cluster, late)
    assert_like_home(late, tmp_path / "home")
    assert (attempts_of(late)[0], attempts_of(late)[-1]) == ("requeued", "finished")
    assert any(isinstance(event, FollowUp) for event in read_events(late))
    followed = read_tables(runs_dir)
    reindex(runs_dir)
    assert read_tables(runs_dir) == followed


def submit_and_die(runs_dir: Path, configs: Sequence[RunConfig]) -> None:
    """Submit the runs in a process that is killed at once: nothing follows the jobs."""
    pid = os.fork()
    if pid == 0:
        try:
            submit_runs(runs_dir, configs, sbatch={"cpus-per-task": "2"})
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)


def read_tables(runs_dir: Path) -> dict[str, set[tuple[object, ...]]]:
    tables = ("runs", "iterations", "evaluations", "rollups", "events")
    with Database.open(runs_dir) as db:
        return {table: {tuple(row) for row in db.rows(f"SELECT * FROM {table}")} for table in tables}
