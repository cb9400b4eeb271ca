"""`clarinet verify`: real runs trained again, with the record, the data or the labels changed meanwhile."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from clarinet_tui.cli import verify as cli
from clarinet_tui.cli.main import app
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.environment import read_environment
from clarinet_tui.verify.comparison import Replay
from core.errors import InputError
from tests.support.child_processes import run_worker
from tests.support.events import started, step
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
    """A copy of their directories; the data stays where it is."""
    shutil.copytree(trained / "runs", tmp_path / "runs", ignore=shutil.ignore_patterns("clarinet.db*"))
    return tmp_path / "runs"


def verify(runs: Path, *words: str) -> Result:
    return CliRunner().invoke(app, ["verify", *words, "--runs-dir", str(runs), "--data-dir", str(runs / "data")])


def test_a_run_agrees_with_itself_to_the_last_digit(runs: Path) -> None:
    done = verify(runs, "one", "--iterations", "7")
    assert done.exit_code == 0, done.output
    first, labels = done.output.splitlines()
    assert first.startswith("Iterations 1 to 7, ")
    assert first.endswith(" numbers: they agree exactly.")
    assert labels.startswith("The labels are the same: ")


def test_a_run_whose_stage_1_was_made_by_another_begins_with_its_own_pseudo_labels(runs: Path) -> None:
    done = verify(runs, "taker", "--json")
    assert done.exit_code == 0, done.output
    said = json.loads(done.output)
    assert (said["agrees"], said["exactly"], said["different"], said["largest"]) == (True, True, 0, None)
    assert said["first_iteration"] > 1
    assert said["labels"]["pseudo-labels"]["recorded"] == said["labels"]["pseudo-labels"]["now"] != ""


def test_one_number_that_was_changed_is_found(runs: Path) -> None:
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
    assert "torch: 1.0 then, 2." in done.output


def test_a_tolerance_is_for_numbers_only(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_events(make_run(runs, id="made"), [started(), step(1, {"complementary_loss": 4.0})])

    def repeated(label_hash: str) -> Replay:
        measured: dict[int, Mapping[str, float | str]] = {1: {"complementary_loss": 4.25}}
        return Replay(label_hash=label_hash, pseudo_label_hash="", iterations=measured, environment={})

    monkeypatch.setattr(cli, "_repeated", lambda *_, labels: repeated("abc"))
    assert verify(runs, "made").exit_code == 1
    done = verify(runs, "made", "--tolerance", "0.06")
    assert done.exit_code == 0
    assert "1 differ, from iteration 1 on, by 0.05882 at most" in done.output
    assert "That is within the tolerance of 0.06." in done.output
    monkeypatch.setattr(cli, "_repeated", lambda *_, labels: repeated("other"))
    assert verify(runs, "made", "--tolerance", "0.06").exit_code == 1


def test_other_labels_are_told(trained: Path, runs: Path) -> None:
    run = RunDirectory(runs, "taker")
    labels = np.load(run.pseudo_labels)
    np.save(run.pseudo_labels, (labels + 1) % 4)
    done = verify(runs, "taker", "--iterations", "2")
    assert done.exit_code == 1
    assert "The pseudo-labels are others: " in done.output
    run.pseudo_labels.unlink()
    assert "another run made this run's stage 1" in str(verify(runs, "taker").exception)


def test_a_run_without_iterations_or_without_its_data_cannot_be_verified(runs: Path, tmp_path: Path) -> None:
    write_events(make_run(runs, id="empty"), [started()])
    assert "has no iterations yet" in str(verify(runs, "empty").exception)
    run = RunDirectory(runs, "one")
    run.config.write_text(run.config.read_text().replace("scans", "gone"))
    done = verify(runs, "one")
    assert isinstance(done.exception, InputError)
    assert "run one: cannot be trained here: " in str(done.exception)
