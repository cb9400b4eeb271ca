"""Runs that share stage 1 across nodes: the others wait for the maker's job, and take over if it dies."""

import signal
from pathlib import Path

import pytest

from clarinet_tui.runs.environment import read_environment
from clarinet_tui.slurm.place import plan_arrays
from tests.support.slurm import Cluster
from tests.support.slurm_runs import (
    follow,
    job_of,
    signal_job,
    submit_runs,
    tiny_configs,
    wait_for_end,
    wait_for_iterations,
)
from tests.support.workers import events_named


def test_runs_that_take_labels_wait_for_the_first_run_with_their_stage1(tmp_path: Path) -> None:
    two_steps = [tiny_configs(tmp_path, 2, method) for method in ("gac", "gac+dann", "gac+cdan-e")]
    configs = [config for pair in zip(*two_steps, strict=True) for config in pair] + tiny_configs(tmp_path, 1)
    arrays = plan_arrays(configs, 10)
    assert [(array.runs, array.waits_for) for array in arrays] == [([0, 3, 6], None), ([1, 2], 0), ([4, 5], 3)]
    assert [array.runs for array in plan_arrays(configs, 2)] == [[0, 3], [6], [1, 2], [4, 5]]


@pytest.mark.slurm
def test_a_waiting_run_makes_the_labels_of_a_dead_maker(cluster: Cluster, tmp_path: Path) -> None:
    """The maker and its job are killed; of the two runs that wait for it, one makes the labels on the other node."""
    stage1 = {"stage1": {"epochs": 25, "batch_size": 8, "rate": 1e-5}}
    methods = ("gac+dann", "gac+cdan-e", "gac+dan")
    configs = [config for method in methods for config in tiny_configs(tmp_path, 1, method, **stage1)]
    maker, *others = submit_runs(tmp_path / "runs", configs)
    wait_for_iterations(cluster, maker, 5)
    assert {(follow(run), job_of(run).reason) for run in others} == {("queued", "Dependency")}
    node = job_of(maker).node
    try:
        cluster.call("scontrol", "update", f"NodeName={node}", "State=DRAIN", "Reason=test")
        signal_job(cluster, maker, signal.SIGKILL)
        wait_for_end(cluster, *others)
    finally:
        cluster.call("scontrol", "update", f"NodeName={node}", "State=RESUME")
    assert not events_named(maker, "pseudo-labels")
    origins = {run.id: events_named(run, "pseudo-labels")[0].get("origin", "") for run in others}
    (new_maker,) = (run for run, origin in origins.items() if not origin)
    assert sorted(origins.values()) == ["", new_maker]
    hosts = [read_environment(run)["host"] for run in (maker, *others)]
    assert hosts[0] not in hosts[1:]
