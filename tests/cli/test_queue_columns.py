"""Settings as columns of `clarinet queue`."""

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from clarinet_tui.cli.columns import runs_table
from clarinet_tui.cli.queue import complete_queue_columns, describe_columns
from clarinet_tui.place import LaunchOptions
from clarinet_tui.queue.local import LocalPlace
from clarinet_tui.tables.writers import to_rich
from core.config import RunConfig
from tests.support.cli import invalid, invoke
from tests.support.tables import printed

RATES = (0.001, 0.003, 0.01)


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A runs directory without a supervisor."""
    monkeypatch.setattr("clarinet_tui.queue.local.ensure_supervisor", lambda runs_dir: None)
    return tmp_path / "runs"


def enqueue(runs: Path, configs: Iterable[RunConfig]) -> None:
    LocalPlace(runs).submit(list(configs), LaunchOptions.from_paths(runs.parent / "data", paused=True))


def test_settings_that_differ_are_columns_and_others_can_be_chosen(runs: Path) -> None:
    enqueue(runs, (RunConfig(method="basset", preset="smoke", classifier_rate=rate) for rate in RATES))
    header, *lines = invoke(runs, "queue").stdout.splitlines()
    assert header.split()[:6] == ["id", "state", "method", "task", "seed", "classifier_rate"]
    assert [line.split()[6] for line in lines[:3]] == ["0.001", "0.003", "0.01"]
    chosen = invoke(runs, "queue", "--columns", "id,epochs,waits-for").stdout.splitlines()
    assert chosen[0].split() == ["id", "epochs", "waits", "for"]
    assert chosen == invoke(runs, "queue", "ls", "--columns", "id,epochs,waits-for").stdout.splitlines()
    position = invoke(runs, "queue", "--columns", "position,classifier_rate").stdout.splitlines()
    assert [line.split() for line in position[1:4]] == [["1", "0.001"], ["2", "0.003"], ["3", "0.01"]]
    assert "did you mean classifier_rate?" in invalid(runs, "queue", "--columns", "id,clasifier_rate")
    assert "classifier_rate" not in json.loads(invoke(runs, "queue", "--json").stdout)[0]
    assert tuple(name for part in ("classifier_r", "wai") for name, _ in complete_queue_columns(f"id,{part}")) == (
        "id,classifier_rate",
        "id,waits-for",
    )


@pytest.mark.parametrize("method", ["basset", "fwd+basset-kept"])
def test_runs_of_a_sweep_can_be_told_apart_in_80_columns(runs: Path, method: str) -> None:
    enqueue(runs, (RunConfig(method=method, preset="smoke", classifier_rate=rate) for rate in RATES))
    rows = LocalPlace(runs).list_runs()
    lines = printed(to_rich(runs_table(rows, describe_columns(), (), after="seed"), 80, gap=1), 80).splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split()[6] for line in lines if "waiting" in line] == ["0.001", "0.003", "0.01"]


def test_settings_of_a_row_are_read_once(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    enqueue(runs, [RunConfig(preset="smoke")])
    (first,) = LocalPlace(runs).list_runs()
    monkeypatch.setattr("clarinet_tui.runs.directory.read_file", pytest.fail)
    (again,) = LocalPlace(runs).list_runs()
    assert again.settings["stage1.epochs"] == 300
    assert again.config is first.config
