"""`clarinet verify` on real runs, with journal, data or labels changed."""

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from typer.testing import Result

from clarinet_tui.cli import verify as cli
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.environment import read_environment
from clarinet_tui.verify.comparison import Replay
from core.errors import InputError
from tests.support import forked_python
from tests.support.cli import invoke
from tests.support.events import started, step
from tests.support.forked_python import run_worker
from tests.support.histories import make_run, write_events
from tests.support.workers import make_task, tiny_run


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A one-step run, and a two-step one that was given the labels of another."""
    folder = tmp_path_factory.mktemp("trained")
    task, runs = make_task(folder), folder / "runs"
    for name, method in (("one", "clarinet"), ("maker", "gac+dann"), ("taker", "gac+dann")):
        seed = {"seed": 2, "stage1": {"seed": 1}} if name == "taker" else {}
        run = tiny_run(runs, task, name, method, **seed)
        assert run_worker(run) == 0, run.log.read_text()
    return folder


@pytest.fixture
def runs(trained: Path, tmp_path: Path) -> Path:
    """A copy of the run directories; the data is not copied."""
    shutil.copytree(trained / "runs", tmp_path / "runs", ignore=shutil.ignore_patterns("clarinet.db*"))
    return tmp_path / "runs"


@pytest.fixture
def forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retrain in processes that are forked."""
    monkeypatch.setattr(subprocess, "run", forked_python.run)


def verify(runs: Path, *arguments: str) -> Result:
    return invoke(runs, "verify", *arguments, "--data-dir", str(runs / "data"))


def test_run_agrees_exactly_with_itself(runs: Path) -> None:
    done = verify(runs, "one", "--iterations", "7")
    assert done.exit_code == 0, done.output
    first, labels = done.output.splitlines()
    assert first.startswith("Iterations 1 to 7, ")
    assert first.endswith(" numbers: all agree exactly.")
    assert labels.startswith("The labels are the same: ")


@pytest.mark.usefixtures("forked")
def test_run_with_shared_stage1_starts_from_its_pseudo_labels(runs: Path) -> None:
    done = verify(runs, "taker", "--json")
    assert done.exit_code == 0, done.output
    result = json.loads(done.output)
    assert (result["agrees"], result["exactly"], result["different"], result["largest"]) == (True, True, 0, None)
    assert result["first_iteration"] > 1
    assert result["labels"]["pseudo-labels"]["recorded"] == result["labels"]["pseudo-labels"]["replayed"] != ""


@pytest.mark.usefixtures("forked")
def test_changed_number_is_found(runs: Path) -> None:
    run = RunDirectory(runs, "one")
    lines = run.journal.read_bytes().split(b"\n")
    place = next(place for place, line in enumerate(lines) if line.startswith(b"[3,"))
    values = json.loads(lines[place])
    values[5] += 0.25
    lines[place] = json.dumps(values).encode()
    run.journal.write_bytes(b"\n".join(lines))
    environment = read_environment(run)
    environment["versions"]["torch"] = "1.0"
    run.environment.write_text(json.dumps(environment))
    done = verify(runs, "one", "--iterations", "5")
    assert done.exit_code == 1
    assert "1 differ, from iteration 3 on, by 0." in done.output
    assert "iteration 3: complementary_loss was " in done.output
    assert "torch: 1.0 recorded, 2." in done.output


def test_tolerance_applies_to_numbers_only(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_events(make_run(runs, id="made"), [started(), step(1, {"complementary_loss": 4.0})])
    measured: dict[int, Mapping[str, float | str]] = {1: {"complementary_loss": 4.25}}
    replay = Replay(label_hash="abc", pseudo_label_hash="", iterations=measured, environment={})
    monkeypatch.setattr(cli, "_replay", lambda *_, labels: replay)
    assert verify(runs, "made").exit_code == 1
    done = verify(runs, "made", "--tolerance", "0.06")
    assert done.exit_code == 0
    assert "1 differ, from iteration 1 on, by 0.05882 at most" in done.output
    assert "The differences are within the tolerance of 0.06." in done.output
    replay.label_hash = "other"
    assert verify(runs, "made", "--tolerance", "0.06").exit_code == 1


@pytest.mark.usefixtures("forked")
def test_changed_labels_are_reported(trained: Path, runs: Path) -> None:
    run = RunDirectory(runs, "taker")
    labels = np.load(run.pseudo_labels)
    np.save(run.pseudo_labels, (labels + 1) % 4)
    done = verify(runs, "taker", "--iterations", "2")
    assert done.exit_code == 1
    assert "The pseudo-labels differ: " in done.output
    run.pseudo_labels.unlink()
    assert "another run made this run's stage 1" in str(verify(runs, "taker").exception)


@pytest.mark.usefixtures("forked")
def test_run_without_iterations_or_data_cannot_be_verified(runs: Path, tmp_path: Path) -> None:
    write_events(make_run(runs, id="empty"), [started()])
    assert "has no iterations yet" in str(verify(runs, "empty").exception)
    run = RunDirectory(runs, "one")
    run.config.write_text(run.config.read_text().replace("scans", "gone"))
    done = verify(runs, "one")
    assert isinstance(done.exception, InputError)
    assert "run one: cannot be retrained here: " in str(done.exception)
