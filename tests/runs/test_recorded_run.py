"""Read a real run directory of version 0.1.0: the format of run directories is public and stays readable.

The run was queued, stopped, resumed, tagged and noted; host, boot, pid and paths were replaced afterwards.
"""

import json
import shutil
from pathlib import Path

import pytest

from clarinet_tui.history.ingest import ingest_all
from clarinet_tui.logs.run_log import RunLog
from clarinet_tui.runs.directory import RunDirectory, list_runs
from clarinet_tui.runs.environment import read_environment
from clarinet_tui.runs.lock import is_alive, read_lock_owner
from tests.support.cli import invoke
from tests.support.events import read_journal
from tests.support.histories import open_history

DATA = Path(__file__).with_name("data")


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    shutil.copytree(DATA, tmp_path / "runs")
    (run,) = list_runs(tmp_path / "runs")
    return run


def test_files(run: RunDirectory) -> None:
    config = run.read_config()
    assert (config.method, config.task, config.preset, config.seed) == ("gac+cdan-e", "M->U", "smoke", 1)
    assert (config.epochs, config.stage1.epochs, config.source_size) == (2, 2, 320)
    events = read_journal(run.journal)
    assert [event["event"] for event in events if event["event"] != "step"] == [
        *("started", "stage", "checkpoint", "stopped", "resumed", "evaluation", "evaluation"),
        *("pseudo-labels", "checkpoint", "stage", "evaluation", "evaluation", "checkpoint", "finished"),
    ]
    steps = [event for event in events if event["event"] == "step"]
    assert [step["iteration"] for step in steps] == list(range(1, 41))
    assert steps[0]["complementary_loss"] == 2.22758794
    assert steps[-1].keys() >= {"classification_loss", "adversarial_loss", "lambda", "discriminator_accuracy"}
    environment = read_environment(run)
    assert (environment["host"], environment["device"]) == ("workstation", "cpu")
    assert environment["versions"]["clarinet-tui"] == "0.1.0"
    assert environment["git"]["commit"].startswith("4a217ec")
    assert [attempt["host"] for attempt in environment["earlier_attempts"]] == ["workstation"]
    owner = read_lock_owner(run.lock)
    assert owner is not None
    assert (owner.pid, is_alive(owner)) == (4242, False)
    with RunLog(run) as log:
        lines = log.read_last(100)
        assert log.has_final_event
    assert lines[0] == "Reading MNIST"
    assert "pseudo-labels c66a924a80e8, 8.12 % of them right" in lines
    assert lines[-1] == "finished after 4 s: target 4.69 %, source 4.69 %"


def test_history(run: RunDirectory) -> None:
    database = open_history(run.runs_dir)
    ingest_all(database, run.runs_dir)
    columns = "state, target_accuracy, iteration, label_hash, pseudo_label_accuracy"
    assert database.tuples(f"SELECT {columns} FROM runs") == [("finished", 4.6875, 40, "0ba760caf42b", 8.125)]
    assert database.tuples("SELECT count(*) FROM iterations") == [(40,)]
    assert database.tuples("SELECT iteration, target_accuracy FROM evaluations") == [
        *((10, 12.5), (20, 4.6875), (30, 4.6875), (40, 4.6875))
    ]
    assert database.tuples("SELECT tag FROM tags") == [("recorded",)]
    assert database.tuples("SELECT note FROM notes") == [("A real run, kept to read its format.",)]
    database.close()


def test_show_and_export(run: RunDirectory, tmp_path: Path) -> None:
    shown = invoke(run.runs_dir, "show", run.id)
    assert shown.exit_code == 0, shown.output
    for text in ("finished", "gac+cdan-e", "recorded", "A real run, kept to read its format.", "workstation", "4.69"):
        assert text in shown.output
    fields = json.loads(invoke(run.runs_dir, "show", run.id, "--json").output)
    assert (fields["id"], fields["state"], fields["tags"]) == (run.id, "finished", ["recorded"])
    table = tmp_path / "runs.csv"
    assert invoke(run.runs_dir, "export", run.id, "--out", str(table)).exit_code == 0
    header, row = table.read_text().splitlines()
    assert row.startswith(run.id)
    assert "target_accuracy" in header
    archive, copies = tmp_path / "runs.tar.gz", tmp_path / "copies"
    assert invoke(run.runs_dir, "export", run.id, "--out", str(archive)).exit_code == 0
    assert invoke(copies, "import", str(archive)).exit_code == 0
    assert (copies / run.id / "journal.jsonl").read_bytes() == run.journal.read_bytes()
