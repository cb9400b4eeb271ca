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
from clarinet_tui.slurm.job_file import read_jobs
from core.config import RunConfig
from tests.support.slurm import Cluster
from tests.support.slurm_runs import assert_like_home, submit_runs, tiny_configs, wait_for_end
from tests.support.workers import events_named

pytestmark = pytest.mark.slurm


def test_a_split_array_has_the_numbers_of_home_although_its_sender_is_gone(cluster: Cluster, tmp_path: Path) -> None:
    """Arrays have at most two runs here, and each node has room for two of these."""
    runs_dir, configs = tmp_path / "runs", tiny_configs(tmp_path, 12, epochs=1)
    submit_and_die(runs_dir, configs)
    jobs = read_jobs(runs_dir).jobs
    arrays = [job.id.partition("_")[0] for job in jobs]
    assert [arrays.count(array) for array in dict.fromkeys(arrays)] == [2] * 6
    runs = [RunDirectory(runs_dir, job.run) for job in jobs]
    for run in runs:
        cluster.wait_until(partial(events_named, run, "finished"))
    wait_for_end(cluster, *runs)
    hosts = {read_environment(run)["host"] for run in runs}
    assert len(hosts) == 2
    assert "node2" in hosts
    for run in runs:
        assert_like_home(run, tmp_path / "home")
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
