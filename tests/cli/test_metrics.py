"""`clarinet metrics` as a table, CSV and JSON lines."""

import csv
import json
import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from clarinet_tui.cli import metrics
from clarinet_tui.history.ingest import ingest_run
from core.events import Event
from tests.support.cli import invalid, invoke, pipe_to_head
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


def output(runs: Path, *options: str) -> str:
    return invoke(runs, "metrics", "meas", *options).stdout


def read_csv(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


def test_csv_has_every_iteration_in_stable_columns(runs: Path) -> None:
    printed = output(runs, "--csv", "--level", "iteration")
    header = printed.splitlines()[0]
    assert header == "run,iteration,epoch,adaptation_epoch,stage,seconds," + (
        "complementary_loss,ascended,classification_loss,[red]"
    )
    rows = read_csv(printed)
    assert [int(row["iteration"]) for row in rows] == list(range(1, 201))
    assert [row["complementary_loss"] for row in rows[:3]] == ["0.125", "nan", "0.375"]
    assert (rows[0]["classification_loss"], rows[-1]["classification_loss"]) == ("", "-inf")


def test_json_lines_of_evaluations(runs: Path) -> None:
    assert [json.loads(line) for line in output(runs, "--jsonl", "--stop", "17").splitlines()] == [
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


def test_only_requested_metrics(runs: Path) -> None:
    chosen = "--metric ascended --metric complementary_loss --start 2 --stop 4"
    text = output(runs, "--jsonl", *chosen.split())
    place = {"run": "measured", "epoch": 0, "stage": "clarinet"}
    assert [json.loads(line) for line in text.splitlines()] == [
        {**place, "iteration": 2, "seconds": 2 / 64, "ascended": 0.0, "complementary_loss": "nan"},
        {**place, "iteration": 3, "seconds": 3 / 64, "ascended": 1.0, "complementary_loss": 0.375},
    ]
    rows = read_csv(output(runs, "--csv", "--metric", "target_accuracy", "--start", "8"))
    assert [row["target_accuracy"] for row in rows[:2]] == ["inf", "4.0"]
    assert len(rows) == 25


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--metric loss", "has no 'loss'; it has complementary_loss, ascended, classification_loss, [red], t"),
        ("--level evaluation --metric ascended", "ascended is an iteration metric; use --level iteration"),
        ("--metric ascended --metric target_accuracy", "cannot be printed together"),
        ("--jsonl --csv", "--json, --jsonl and --csv exclude each other"),
    ],
)
def test_unknown_and_mixed_metrics_and_formats_are_errors(runs: Path, options: str, message: str) -> None:
    assert message in invalid(runs, "metrics", "measured", *options.split())


def test_csv_has_no_control_characters(tmp_path: Path) -> None:
    """Stages and metrics have the names that a journal gives them."""
    run = make_run(tmp_path, "hostile")
    write_events(run, [step(1, {"a\x1b]0;b\x07": 1.0}, stage="s\x1b[2J")])
    printed = invoke(tmp_path, "metrics", "hostile", "--csv", "--level", "iteration").stdout
    assert not {"\x1b", "\x07"} & set(printed)
    assert "a]0;b" in printed


def test_run_without_events(runs: Path) -> None:
    header = "run,iteration,epoch,adaptation_epoch,stage,seconds,time\n"
    assert invoke(runs, "metrics", "empty", "--csv").stdout == header
    assert invoke(runs, "metrics", "empty").stdout == "No evaluations yet.\n"
    assert invoke(runs, "metrics", "empty", "--level", "iteration").stdout == "No iterations yet.\n"


def test_tables_of_last_evaluations_and_of_each_metric(runs: Path) -> None:
    lines = output(runs).splitlines()
    assert lines[0].split() == ["epoch", "iteration", "stage", "target", "accuracy"]
    assert lines[-2].split() == ["2", "200", "clarinet", "50.00"]
    assert lines[-1] == "The last 20 of 25 evaluations; --csv and --json print all."
    assert len(lines) == metrics.MAX_ROWS + 2
    table = {line.split()[0]: line.split()[1:] for line in output(runs, "--level", "iteration").splitlines()}
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
