"""`clarinet export` and `clarinet import`: CSV of many runs, and archives for another machine."""

import csv
import math
import tarfile
from collections.abc import Iterable
from pathlib import Path

import pytest

from clarinet_tui.runs.annotations import add_tag, set_note
from clarinet_tui.runs.directory import RunDirectory
from core.events import Event, Finished
from tests.support.cli import invalid, invoke, invoke_json, run_clarinet
from tests.support.events import evaluation, started, step
from tests.support.histories import make_run, open_history, write_events
from tests.support.hostile_archives import archive, plain

END = Finished(iteration=3, epoch=1, target_accuracy=None, source_accuracy=None)


def make_events(number: int) -> Iterable[Event]:
    yield started(seed=number)
    for n in range(1, 4):
        own = {"mmd": math.inf if n == 2 else 0.5} if number == 2 else {}
        yield step(n, {"complementary_loss": n / 8, **own})
    yield evaluation(3, 40.0 + number)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Two finished runs with different metrics, and a running one."""
    runs = tmp_path / "runs"
    open_history(runs).close()
    for number, name in ((1, "aaa"), (2, "bbb")):
        run = make_run(runs, id=name, seed=number)
        write_events(run, [*make_events(number), END])
        add_tag(run, "icml")
    set_note(run, 'a "note",\nof two lines')
    write_events(make_run(runs, id="ccc", seed=3), make_events(3))
    return runs


def table(runs: Path, *arguments: str) -> list[dict[str, str]]:
    out = runs.parent / "out.csv"
    done = invoke(runs, "export", *arguments, "--out", str(out))
    assert done.exit_code == 0, done.exception
    with out.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_one_row_per_run_with_each_selection_rule(runs: Path) -> None:
    write_events(make_run(runs, id="ddd"), [started(), evaluation(1, 50.0, epoch=1), evaluation(2, 47.0, epoch=2)])
    (row,) = table(runs, "ddd")
    assert (row["last_accuracy"], row["last_to_oracle"], row["oracle_accuracy"]) == ("47.0", "-3.0", "50.0")
    assert row["risk_accuracy"] == row["risk_to_oracle"] == "", "no held-out risk was measured"
    rows = table(runs, "--query", "tag:icml")
    assert [(row["id"], row["state"], row["seed"], row["target_accuracy"], row["tags"]) for row in rows] == [
        ("bbb", "finished", "2", "42.0", "icml"),
        ("aaa", "finished", "1", "41.0", "icml"),
    ]
    assert rows[0]["note"] == 'a "note",\nof two lines'
    assert rows[0]["error"] == ""


def test_iterations_and_evaluations_of_runs_with_different_metrics_in_the_same_columns(runs: Path) -> None:
    rows = table(runs, "aaa", "bbb", "--level", "iteration")
    assert list(rows[0])[:6] == ["run", "iteration", "epoch", "adaptation_epoch", "stage", "seconds"]
    assert [(row["run"], row["iteration"], row["complementary_loss"], row["mmd"]) for row in rows] == [
        ("aaa", "1", "0.125", ""),
        ("aaa", "2", "0.25", ""),
        ("aaa", "3", "0.375", ""),
        ("bbb", "1", "0.125", "0.5"),
        ("bbb", "2", "0.25", "inf"),
        ("bbb", "3", "0.375", "0.5"),
    ]

    rows = table(runs, "--all", "--level", "evaluation")
    assert {(row["run"], row["target_accuracy"]) for row in rows} == {("aaa", "41.0"), ("bbb", "42.0"), ("ccc", "43.0")}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["aaa", "--out", "x.zip"], "expected FILE.csv or FILE.tar.gz"),
        (["aaa", "--out", "x.gz"], "expected FILE.csv or FILE.tar.gz"),
        (["aaa", "--out", "x.csv", "--with-checkpoints"], "only for archives"),
        (["aaa", "--out", "x.tar.gz", "--level", "run"], "--level: only for CSV"),
        (["--out", "x.csv"], "expected either run ids or --query"),
        (["aaa", "--all", "--out", "x.csv"], "--all: takes no ids"),
        (["aaa", "--out", "x.csv", "--follow"], "--follow: only for --format tensorboard"),
        (["aaa", "--out", "x", "--format", "tensorboard", "--level", "run"], "takes no --level"),
        (["aaa", "--out", "nowhere/x.csv"], "cannot be written"),
        (["aaa", "--out", "nowhere/x.tar.gz"], "cannot be written"),
    ],
)
def test_invalid_options_write_nothing(
    runs: Path, arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(runs.parent)
    assert message in invalid(runs, "export", *arguments)
    assert [path.name for path in runs.parent.iterdir()] == ["runs"]


def test_runs_move_to_another_machine(runs: Path, tmp_path: Path) -> None:
    there, file = tmp_path / "there", str(tmp_path / "all.tar.gz")
    assert invoke(runs, "export", "--all", "--out", file).stdout.startswith(f"Written: {file} (3 runs, ")
    for limit in (["--max-files", "3"], ["--max-gb", "0.000001"]):
        assert "if you trust it, raise --max-files and --max-gb" in invalid(there, "import", file, *limit)
    imported = invoke(there, "import", file).stdout.splitlines()
    assert sorted(imported) == ["aaa imported", "bbb imported", "ccc imported"]
    assert invoke_json(there, "import", file) == {"imported": [], "known": ["aaa", "bbb", "ccc"]}
    rows = {row["id"]: row for row in invoke_json(there, "ls")}
    before = {row["id"]: row for row in invoke_json(runs, "ls")}
    assert {name: rows[name] for name in ("aaa", "bbb")} == {name: before[name] for name in ("aaa", "bbb")}
    assert (before["ccc"]["state"], rows["ccc"]["state"]) == ("running", "silent")  # its worker is on another machine


def test_warning_about_patches(runs: Path, tmp_path: Path) -> None:
    RunDirectory(runs, "aaa").environment.write_text('{"git": {"commit": "f00", "patch": "+secret"}}')
    export = ["export", "aaa", "--out", str(tmp_path / "x.tgz")]
    assert "--without-patches leaves them out" in invoke(runs, *export).stderr
    assert invoke(runs, *export, "--without-patches").stderr == ""


def test_hostile_archive_is_one_sentence_and_exit_2(tmp_path: Path) -> None:
    archive(tmp_path / "x.tar.gz", plain("abc/journal.jsonl", type=tarfile.SYMTYPE, linkname="/etc/passwd"))
    done = run_clarinet(tmp_path, "import", "x.tar.gz")
    assert (done.returncode, done.stdout) == (2, "")
    reason = "'abc/journal.jsonl' is not a regular file: links, devices and directories are refused"
    assert done.stderr == f"clarinet: x.tar.gz: {reason}\n"
    assert not (tmp_path / "runs").exists()
