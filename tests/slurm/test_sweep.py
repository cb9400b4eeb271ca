"""Sweeps on a real Slurm of two nodes: arrays, states, and the numbers of the same runs at home."""

from pathlib import Path

import pytest

from clarinet_tui.history.database import Database
from clarinet_tui.history.reindex import reindex
from clarinet_tui.runs.environment import read_environment
from clarinet_tui.slurm.job_file import read_jobs
from tests.support.slurm import Cluster
from tests.support.slurm_runs import assert_like_home, submit_runs, tiny_configs, wait_for_end

pytestmark = pytest.mark.slurm


def test_runs_in_a_split_array_have_the_numbers_of_home(cluster: Cluster, tmp_path: Path) -> None:
    """Arrays have at most two runs here, and a node has room for two of these."""
    runs = submit_runs(tmp_path / "runs", tiny_configs(tmp_path, 3, epochs=1), sbatch={"cpus-per-task": "2"})
    arrays = [job.id.partition("_")[0] for job in read_jobs(tmp_path / "runs").jobs]
    assert [arrays.count(array) for array in dict.fromkeys(arrays)] == [2, 1]
    for run in runs:
        wait_for_end(cluster, run)
    hosts = {read_environment(run)["host"] for run in runs}
    assert len(hosts) == 2
    assert "node2" in hosts
    for run in runs:
        assert_like_home(run, tmp_path / "home")
    followed = read_tables(tmp_path / "runs")
    reindex(tmp_path / "runs")
    assert read_tables(tmp_path / "runs") == followed


def read_tables(runs_dir: Path) -> dict[str, set[tuple[object, ...]]]:
    tables = ("runs", "iterations", "evaluations", "rollups", "events")
    with Database.open(runs_dir) as db:
        return {table: {tuple(row) for row in db.rows(f"SELECT * FROM {table}")} for table in tables}
