"""The batch script: what Slurm reads, and what it does on a node without Python."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clarinet_tui.place import LaunchOptions, SlurmOptions
from clarinet_tui.slurm.place import Submission
from tests.support.histories import make_run
from tests.support.workers import read_events


def submission(folder: Path, **options: Any) -> Submission:
    return Submission(folder, LaunchOptions.from_paths(folder / "data", folder, slurm=SlurmOptions(**options)))


def run_script(script: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run the script as the node's task 0 would."""
    environment = {**os.environ, "SLURM_ARRAY_TASK_ID": "0", "SLURMD_NODENAME": "n7"}
    return subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, timeout=60
    )


def test_the_options_are_lines_of_sbatch(tmp_path: Path) -> None:
    script = submission(tmp_path, sbatch={"gres": "gpu:1", "comment": "my runs"}, throttle=2).make_script(
        0, ["abc", "def"]
    )
    for line in ("--array=0-1%2", "--gres=gpu:1", '--comment="my runs"', "--requeue", "--open-mode=append"):
        assert f"#SBATCH {line}\n" in script
    assert "#SBATCH --signal=B:USR1@120\n" in script
    assert "--dependency" not in script
    assert f"exec {sys.executable} -P -m clarinet_tui.slurm.job" in script


def test_a_dependency_is_added_to_that_on_the_maker_of_stage1(tmp_path: Path) -> None:
    own = submission(tmp_path, sbatch={"dependency": "afterok:7"})
    assert "#SBATCH --dependency=afterok:7\n" in own.make_script(0, ["abc"])
    assert "#SBATCH --dependency=afterany:5_0,afterok:7\n" in own.make_script(1, ["def"], "afterany:5_0")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"python": "/opt/no python/bin/python"}, "on the node n7, /opt/no python/bin/python does not start"),
        ({"setup": "false"}, "the setup line failed on n7: see its log"),
        ({"sbatch": {"chdir": "/nowhere"}}, "the node n7 has no directory /nowhere"),
    ],
)
def test_a_node_that_cannot_start_python_records_a_failure(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    run = make_run(tmp_path)
    assert run_script(submission(tmp_path, **options).make_script(0, [run.id]), tmp_path).returncode == 1
    (event,) = read_events(run)
    assert (event["event"], event["kind"]) == ("failed", "not started")
    assert event["message"].startswith(message)
    assert event["time"] > 1e9


def test_hostile_names_stay_words_of_the_shell(tmp_path: Path) -> None:
    folder = tmp_path / "a'b $(touch pwned) %j"
    folder.mkdir()
    run = make_run(folder)
    script = submission(folder, python="/none").make_script(0, [run.id])
    assert run_script(script, folder).returncode == 1
    assert not (folder / "pwned").exists()
    assert len(read_events(run)) == 1
    assert "%%j" in script.partition("--output=")[2].partition("\n")[0]
