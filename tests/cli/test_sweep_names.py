"""`clarinet sweep`: the name of a sweep, the runs that extend it, and tags of new runs."""

from pathlib import Path

import pytest

from tests.support.cli import invalid, invoke, invoke_json


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A runs directory without a supervisor."""
    monkeypatch.setattr("clarinet_tui.queue.local.ensure_supervisor", lambda runs_dir: None)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "runs"


SMOKE = ("--tasks", "M->U", "--preset", "smoke")


def sweep_names(runs: Path) -> list[str]:
    return sorted({run["sweep"] for run in invoke_json(runs, "ls")})


def test_a_sweep_has_a_name_that_no_other_has(runs: Path) -> None:
    rates = (*SMOKE, "--methods", "basset", "--grid", "classifier_rate=0.01,0.02")
    assert [len(invoke_json(runs, "sweep", *rates)) for _ in range(2)] == [2, 2]
    assert "Sweep mine\n1 run queued" in invoke(runs, "sweep", *SMOKE, "--name", "mine").stdout
    assert sweep_names(runs) == ["basset-classifier_rate", "basset-classifier_rate-2", "mine"]
    assert len(invoke_json(runs, "ls", "sweep:mine")) == 1
    assert len(invoke_json(runs, "ls", "sweep:basset-classifier_rate")) == 2
    assert "mine" in invoke(runs, "ls", "--columns", "id,sweep").stdout
    assert "--name: expected 1 to 100 printable" in invalid(runs, "sweep", *SMOKE, "--name", "a\nb")
    assert "expected a FILE, or what to train" in invalid(runs, "sweep", "--name", "mine")


def test_a_sweep_is_extended_by_the_runs_that_it_lacks(runs: Path) -> None:
    basset = (*SMOKE, "--name", "first", "--methods", "basset")
    ids = invoke_json(runs, "sweep", *basset, "--seeds", "1..2", "--grid", "classifier_rate=0.01,0.02")
    assert len(ids) == 4
    more = (*basset, "--seeds", "1..3", "--grid", "classifier_rate=0.01,0.02,0.03")
    printed = invoke(runs, "sweep", *more, "--dry-run")
    assert ["--set sweep=first" in line for line in printed.stdout.splitlines()] == [True] * 5
    assert printed.stderr == "Sweep first has 4 of these 9 runs already\n"
    assert invoke(runs, "sweep", *more).stdout.startswith("Sweep first has 4 of these 9 runs already\n5 runs queued: ")
    assert invoke(runs, "sweep", *more).stdout == "Sweep first has 9 of these 9 runs already: none is queued\n"
    assert invoke(runs, "sweep", *more, "--dry-run").stdout == ""
    rows = invoke_json(runs, "ls", "sweep:first")
    assert len(rows) == len({(row["seed"], row["classifier_rate"]) for row in rows}) == 9
    invoke(runs, "clone", ids[0])
    assert sweep_names(runs) == ["", "first"]


def test_new_runs_are_tagged(runs: Path) -> None:
    invoke(runs, "sweep", *SMOKE, "--seeds", "1..2", "--tag", "icml", "--tag", "new")
    assert [run["tags"] for run in invoke_json(runs, "ls")] == [["icml", "new"]] * 2
    assert " --tag icml" in invoke(runs, "sweep", *SMOKE, "--tag", "icml", "--dry-run").stdout
    assert "without spaces" in invalid(runs, "sweep", *SMOKE, "--tag", "a b")
    assert len(invoke_json(runs, "ls")) == 2
