"""The app in a real terminal: launch on Slurm, see the job wait, watch it, quit, open the app again, stop the run."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from clarinet_tui.runs.directory import RunDirectory, list_run_ids
from tests.support.slurm import Cluster
from tests.support.slurm_runs import attempts_of
from tests.support.terminal import APP, Terminal, open_terminal, watch_quit_and_reopen
from tests.support.workers import make_task, tiny_run

pytestmark = pytest.mark.slurm


@pytest.fixture
def terminal(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    yield from open_terminal(tmp_path, monkeypatch)


def test_launch_wait_watch_quit_reopen_and_stop(terminal: Terminal, cluster: Cluster, tmp_path: Path) -> None:
    urgent = cluster.submit("--partition=high", "--nodes=2", "--exclusive")
    cluster.wait_until(lambda: cluster.job_state(urgent) == "RUNNING")
    tiny_run(tmp_path / "runs", make_task(tmp_path), "bbb222", "clarinet", epochs=100_000)
    terminal.open(APP)
    terminal.wait_for("bbb222")

    terminal.press("e")
    terminal.wait_for("photos->")
    terminal.wait_for("jobs on 2 partitions")
    terminal.press("Tab", "Tab", "Tab")
    terminal.type("5")
    terminal.wait_for("--seeds 5")
    terminal.press("Tab", "Tab", "Down", "Space")
    terminal.wait_for("● slurm")
    terminal.press("Tab")
    terminal.type("partition=main")
    terminal.wait_until(lambda screen: re.search(r"Slurm +partition=main +│", screen), "the options")
    terminal.press("C-s")
    terminal.wait_for("is queued")
    (run,) = (RunDirectory(tmp_path / "runs", name) for name in list_run_ids(tmp_path / "runs") if name != "bbb222")

    terminal.press("6")
    terminal.wait_until(lambda screen: re.search(rf"{run.id}.*slurm +(Resources|Priority)", screen), "the reason")
    cluster.call("scancel", urgent)
    terminal.wait_until(lambda screen: re.search(rf"▸ {run.id}.* n[12] ", screen), "the running job")
    terminal.press("Enter")
    watch_quit_and_reopen(terminal, run)
    terminal.press("s", "y")
    cluster.wait_until(lambda: attempts_of(run) == ["stopped"])
    terminal.wait_until(lambda screen: "stopped" in screen, "the stopped run")
