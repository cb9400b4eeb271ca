"""`clarinet metrics` as a table, CSV and JSON lines."""

import csv
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clarinet_tui.cli import metrics
from clarinet_tui.history.database import Database
from clarinet_tui.history.ingest import ingest_run
from core.errors import InputError
from core.events import Event
from tests.support.cli import invoke, pipe_to_head, run_clarinet
from tests.support.events import evaluation, started, step
from tests.support.histories import make_run, open_history, write_events


def make_events() -> Iterator[Event]:
    """Two stages with values that are not finite, and a plug-in metric whose name is markup."""
    yield started()
    for n in range(1, 201):
        first = {"complementary_loss": math.nan if n == 2 else n / 8, "ascended": float(n % 2)}
        yield step(n, first if n <= 100 else {"classification_loss": -math.inf if n == 200 else n / 4, "[red]": 1.5})
        if n % 8 == 0:
            yield evaluation(n, math.inf if n == 8 else n / 4, confusion=[[1, 0], [0, 1]])


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    runs = tmp_path / "runs"
    with open_history(runs) as db:
        run = make_run(runs, id="measured")
        write_events(run, make_events())
        ingest_run(db, run)
        make_run(runs, id="empty")
    return runs


@pytest.fixture
def db(runs: Path) -> Iterator[Database]:
    with Database.open(runs) as opened:
        yield opened


def read_csv(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


def test_csv_has_every_iteration_in_stable_columns(tmp_path: Path, runs: Path) -> None:
    done = run_clarinet(tmp_path, "metrics", "meas", "--csv", "--level", "iteration")
    header = done.stdout.splitlines()[0]
    assert header == "run,iteration,epoch,adaptation_epoch,stage,seconds," + (
        "complementary_loss,ascended,classification_loss,[red]"
    )
    rows = read_csv(done.stdout)
    assert [int(row["iteration"]) for row in rows] == list(range(1, 201))
    assert [row["complementary_loss"] for row in rows[:3]] == ["0.125", "nan", "0.375"]
    assert (rows[0]["classification_loss"], rows[-1]["classification_loss"]) == ("", "-inf")


def test_json_lines_of_evaluations(tmp_path: Path, runs: Path) -> None:
    done = run_clarinet(tmp_path, "metrics", "measured", "--jsonl", "--stop", "17")
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {
            "run": "measured",
            "iteration": n,
            "epoch": 0,
            "stage": "clarinet",
            "seconds": n / 64,
            "time": 1000.0,
            "target_accuracy": accuracy,
            "confusion": [[1, 0], [0, 1]],
        }
        for n, accuracy in ((8, "inf"), (16, 4.0))
    ]


def output(capsys: pytest.CaptureFixture[str], runs: Path, **options: Any) -> str:
    metrics.metrics("measured", runs_dir=runs, **options)
    return capsys.readouterr().out


def test_only_requested_metrics(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = output(capsys, runs, jsonl=True, metric=["ascended", "complementary_loss"], start=2, stop=4)
    place = {"run": "measured", "epoch": 0, "stage": "clarinet"}
    assert [json.loads(line) for line in text.splitlines()] == [
        {**place, "iteration": 2, "seconds": 2 / 64, "ascended": 0.0, "complementary_loss": "nan"},
        {**place, "iteration": 3, "seconds": 3 / 64, "ascended": 1.0, "complementary_loss": 0.375},
    ]
    rows = read_csv(output(capsys, runs, csv=True, metric=["target_accuracy"], start=8))
    assert [row["target_accuracy"] for row in rows[:2]] == ["inf", "4.0"]
    assert len(rows) == 25


@pytest.mark.parametrize(
    ("level", "requested", "message"),
    [
        (
            None,
            ["loss"],
            "run measured has no 'loss'; it has complementary_loss, ascended, classification_loss, [red], t",
        ),
        ("evaluation", ["ascended"], "ascended is an iteration metric; use --level iteration"),
        (None, ["ascended", "target_accuracy"], "cannot be printed together"),
    ],
)
def test_unknown_and_mixed_metrics_are_errors(
    db: Database, level: metrics.Level | None, requested: list[str], message: str
) -> None:
    with pytest.raises(InputError) as error:
        metrics.choose_metrics(db, "measured", level, requested)
    assert message in str(error.value)


def test_csv_has_no_control_characters(tmp_path: Path) -> None:
    """Stages and metrics have the names that a journal gives them."""
    run = make_run(tmp_path, "hostile")
    write_events(run, [step(1, {"a\x1b]0;b\x07": 1.0}, stage="s\x1b[2J")])
    printed = invoke(tmp_path, "metrics", "hostile", "--csv", "--level", "iteration").stdout
    assert not {"\x1b", "\x07"} & set(printed)
    assert "a]0;b" in printed


def test_csv_and_json_exclude_each_other(tmp_path: Path, runs: Path) -> None:
    assert run_clarinet(tmp_path, "metrics", "measured", "--jsonl", "--csv").returncode == 2


def test_run_without_events(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    metrics.metrics("empty", csv=True, runs_dir=runs)
    metrics.metrics("empty", runs_dir=runs)
    metrics.metrics("empty", level="iteration", runs_dir=runs)
    assert capsys.readouterr().out.splitlines() == [
        "run,iteration,epoch,adaptation_epoch,stage,seconds,time",
        "No evaluations yet.",
        "No iterations yet.",
    ]


def test_tables_of_last_evaluations_and_of_each_metric(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = output(capsys, runs).splitlines()
    assert lines[0].split() == ["epoch", "iteration", "stage", "target", "accuracy"]
    assert lines[-2].split() == ["2", "200", "clarinet", "50.00"]
    assert lines[-1] == "The last 20 of 25 evaluations; --csv and --json print all."
    assert len(lines) == metrics.MAX_ROWS + 2
    table = {line.split()[0]: line.split()[1:] for line in output(capsys, runs, level="iteration").splitlines()}
    assert table["[red]"] == ["1.5", "1.5", "1.5", "1.5"]
    assert table["ascended"] == ["0", "0.5", "0", "1"]
    assert table["classification_loss"] == ["-inf", "-inf", "25.25", "49.75", "1"]


def test_closed_pipe_is_no_error(tmp_path: Path, runs: Path) -> None:
    run = make_run(runs, id="long")
    write_events(run, (step(n) for n in range(1, 5001)))
    piped = pipe_to_head(tmp_path, "metrics", "long", "--jsonl", "--level", "iteration")
    first, code = piped.stdout.splitlines()
    assert json.loads(first)["iteration"] == 1
    assert (code, piped.stderr) == ("0", "")
