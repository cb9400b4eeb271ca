"""Runs that share stage 1 across nodes: the others wait for the maker's job, and take over if it dies."""

from pathlib import Path

import pytest

from clarinet_tui.queue import stopping
from clarinet_tui.slurm.submission import plan_arrays
from tests.support.slurm import Cluster
from tests.support.slurm_runs import follow, job_of, submit_runs, tiny_configs, wait_for_end, wait_for_iterations
from tests.support.workers import events_named


def test_runs_that_take_labels_wait_for_the_first_run_with_their_stage1(tmp_path: Path) -> None:
    two_steps = [tiny_configs(tmp_path, 2, method) for method in ("gac", "gac+dann", "gac+cdan-e")]
    configs = [config for pair in zip(*two_steps, strict=True) for config in pair] + tiny_configs(tmp_path, 1)
    arrays = plan_arrays(configs, 10)
    assert [(array.runs, array.maker) for array in arrays] == [([0, 3, 6], None), ([1, 2], 0), ([4, 5], 3)]
    assert [array.runs for array in plan_arrays(configs, 2)] == [[0, 3], [6], [1, 2], [4, 5]]


@pytest.mark.slurm
def test_a_waiting_run_makes_the_labels_of_a_dead_maker(cluster: Cluster, tmp_path: Path) -> None:
    stage1 = {"stage1": {"epochs": 200, "batch_size": 8, "rate": 1e-5}}
    configs = [
        config for method in ("gac+dann", "gac+cdan-e") for config in tiny_configs(tmp_path, 1, method, **stage1)
    ]
    maker, other = submit_runs(tmp_path / "runs", configs)
    wait_for_iterations(cluster, maker, 5)
    assert follow(other) == "queued"
    assert job_of(other).reason == "Dependency"
    cluster.call("scancel", job_of(maker).id)
    wait_for_end(cluster, maker, state="stopped")
    wait_for_iterations(cluster, other, 5)
    assert events_named(other, "step")[0]["stage"] == events_named(maker, "step")[0]["stage"]
    assert stopping.stop(other, 60) is stopping.StopResult.REQUESTED
    wait_for_end(cluster, other, state="stopped")
