"""The contract of places for Slurm: with programs that stand in for it, and with a real cluster."""

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from clarinet_tui.place import LaunchOptions, SlurmOptions
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.slurm.jobs import refresh_jobs
from clarinet_tui.slurm.place import SlurmPlace
from tests.support import slurm_standin
from tests.support.place_contract import Harness, PlaceContract
from tests.support.slurm import Cluster
from tests.support.slurm_runs import job_of


def make_harness(folder: Path, start: Callable[[RunDirectory], None]) -> Harness:
    options = LaunchOptions.from_paths(folder, folder, slurm=SlurmOptions(sbatch={"time": "10"}))
    nowhere = SlurmOptions(sbatch={"partition": "nowhere"})
    return Harness(SlurmPlace(folder), options, start, refused=msgspec.structs.replace(options, slurm=nowhere))


class TestStandIn(PlaceContract):
    @pytest.fixture
    def harness(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Harness:
        programs = tmp_path / "bin"
        slurm_standin.install(programs)
        monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")

        def start(run: RunDirectory) -> None:
            slurm_standin.set_state(programs, job_of(run).id, "RUNNING", "n1")
            refresh_jobs(run.runs_dir, force=True)

        return make_harness(tmp_path / "runs", start)


@pytest.mark.slurm
class TestSlurm(PlaceContract):
    @pytest.fixture
    def harness(self, cluster: Cluster, tmp_path: Path) -> Harness:
        """Occupy both nodes, so that jobs wait."""
        blocking = cluster.submit("--partition=high", "--nodes=2", "--exclusive")
        cluster.wait_until(lambda: cluster.job_state(blocking) == "RUNNING")

        def start(run: RunDirectory) -> None:
            cluster.call("scancel", blocking)
            cluster.wait_until(lambda: refresh_jobs(run.runs_dir, force=True).jobs and not job_of(run).is_waiting)

        return make_harness(tmp_path / "runs", start)
