"""The check of a node: does it see the runs directory and its locks?"""

from pathlib import Path

import pytest

from clarinet_tui.doctor.checks import check_controller, check_node
from clarinet_tui.slurm.commands import SlurmError


@pytest.mark.parametrize(
    ("answer", "verdict", "message"),
    [
        ("held", "good", "sees {} and its locks"),
        ("free", "warning", "sees {}, but not its locks (flock): a second attempt waits for a stale lease, 60 s"),
        ("missing", "bad", "does not see {}"),
    ],
)
def test_a_node_that_sees_less_is_named(tmp_path: Path, answer: str, verdict: str, message: str) -> None:
    result = check_node(tmp_path, lambda path: answer)
    assert (result.verdict, result.message) == (verdict, message.format(tmp_path))


def test_a_cluster_without_an_idle_node_is_not_a_failure(tmp_path: Path) -> None:
    def refuse(path: Path) -> str:
        raise SlurmError("slurm: srun: Unable to allocate resources")

    assert check_node(tmp_path, refuse).verdict == "warning"


def test_slurm_without_a_configuration_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert (
        check_controller().message
        == "slurm: sinfo is not installed here: use a login node of the cluster, or --on local"
    )
