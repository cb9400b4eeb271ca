"""`clarinet ls`, `show`, `compare` and `reindex` on real journals."""

import json
import re
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from clarinet_tui.cli.lookup import progress_line
from clarinet_tui.runs.annotations import add_tag
from core.events import Alarmed, Failed, Finished
from tests.support.cli import CLARINET, cli_environment, invoke, run_clarinet
from tests.support.events import evaluation, resumed, started, step
from tests.support.histories import make_run, open_history, write_events, write_lock


def test_damaged_history_is_rebuilt_by_reindex(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    runs.mkdir()
    run = make_run(runs)
    write_events(run, [started(), step(1), step(2), resumed(1), step(2)])
    before = json.loads(run_clarinet(tmp_path, "ls", "--json").stdout)
    assert [row["id"] for row in before] == [run.id]
    (runs / "clarinet.db").write_bytes(b"garbage" * 1000)
    failed = run_clarinet(tmp_path, "ls")
    assert failed.returncode == 2
    assert "clarinet reindex" in failed.stderr
    assert run_clarinet(tmp_path, "reindex").returncode == 0
    assert json.loads(run_clarinet(tmp_path, "ls", "--json").stdout) == before


def test_progress_is_written_to_a_terminal_after_a_second_and_cleared(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter([0.0, 0.9, 1.1, 1.2, 1.3])
    monkeypatch.setattr("clarinet_tui.cli.lookup.time.monotonic", lambda: next(clock))
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with progress_line("Rebuilding") as progress:
        for done, total in ((0, 0), (0, 0), (10, 30), (15, 30), (20, 30)):
            progress(done, total)
    lines = ["Rebuilding …", "Rebuilding: 10 of 30 runs", "Rebuilding: 20 of 30 runs", " " * 25, ""]
    assert capsys.readouterr().err.split("\r") == ["", *lines]


def test_show_and_compare_find_runs_by_prefix(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    runs.mkdir()
    first, second = make_run(runs), make_run(runs)
    assert json.loads(run_clarinet(tmp_path, "show", first.id, "--json").stdout)["id"] == first.id
    both = json.loads(run_clarinet(tmp_path, "compare", first.id, second.id, "--json").stdout)
    assert [row["id"] for row in both["runs"]] == [first.id, second.id]
    missing = run_clarinet(tmp_path, "show", "zzz")
    assert missing.returncode == 2
    assert "zzz" in missing.stderr


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A tagged finished run, a failed one and a queued one."""
    runs = tmp_path / "runs"
    open_history(runs).close()
    good = make_run(runs, id="aaa111", seed=3)
    write_events(good, [started(seed=3, notes=["[bold]made data[/x]"]), step(1), evaluation(100, 40.0)])
    write_events(good, [Finished(iteration=100, epoch=1, target_accuracy=40.0, source_accuracy=None)])
    add_tag(good, "icml")
    bad = make_run(runs, id="bbb222", method="gac+cdan-e", epochs=7, stage1={"epochs": 5})
    write_events(bad, [started(method="gac+cdan-e"), evaluation(100, 60.0)])
    frames = ["session.py:212 _step", "\x1b[31mloss.py:3 loss"]
    write_events(bad, [Failed(iteration=100, message="\x1b[2Jno memory", kind="out of memory", frames=frames)])
    make_run(runs, id="ccc333", seed=2)
    return runs


def ids(runs: Path, *arguments: str) -> list[str]:
    return invoke(runs, "ls", "-q", *arguments).stdout.splitlines()


def test_ls_sorts_numbers_descending_and_text_ascending(runs: Path) -> None:
    assert ids(runs) == ["ccc333", "bbb222", "aaa111"]
    assert ids(runs, "--sort", "acc") == ["bbb222", "aaa111", "ccc333"]
    assert ids(runs, "--sort", "seed", "-r") == ["bbb222", "ccc333", "aaa111"]
    assert ids(runs, "--sort", "state", "--limit", "1") == ["bbb222"]
    assert "target_accuracy" in str(invoke(runs, "ls", "--sort", "colour").exception)


def test_conditions_of_a_query_may_be_several_arguments(runs: Path) -> None:
    assert ids(runs, "state:finished", "seed:3") == ids(runs, "state:finished seed:3") == ["aaa111"]
    assert ids(runs, "seed:3", "OR", "state:failed") == ["bbb222", "aaa111"]
    assert "query, character 8" in str(invoke(runs, "ls", "seed:3", "colour:red").exception)


def test_ls_shows_tags_if_any_and_counts_hidden_runs(runs: Path) -> None:
    listed = invoke(runs, "ls", "--limit", "2", "state:finished OR state:failed")
    assert listed.stdout.splitlines()[0].split()[-1] == "tags"
    assert listed.stdout.splitlines()[-1].split()[-1] == "icml"
    assert listed.stderr == ""
    one = invoke(runs, "ls", "--limit", "1")
    assert "tags" not in one.stdout
    assert one.stderr == "1 of 3 runs; --all lists all\n"
    assert ids(runs, "--limit", "1", "--all") == ["ccc333", "bbb222", "aaa111"]
    assert invoke(runs, "ls", "method:none").stdout == "No run matches.\n"


def test_ls_detects_lost_runs(runs: Path) -> None:
    run = make_run(runs, id="ddd444")
    write_events(run, [started()])
    write_lock(run, start=-1.0)
    assert ids(runs, "state:lost") == ["ddd444"]
    shown = invoke(runs, "show", "ddd").stdout
    assert "clarinet resume ddd444" in shown


def test_show_groups_settings_notes_and_failure(runs: Path) -> None:
    good = invoke(runs, "show", "aaa").stdout
    assert re.search(r"^aaa111  clarinet  U->M  seed 3$", good, re.MULTILINE)
    assert re.search(r"note +\[bold\]made data\[/x\]", good)
    assert not re.search(r"differ|Failure", good)
    bad = invoke(runs, "show", "bbb").stdout
    assert re.search(r"differ from preset smoke\n  epochs +7  \(preset: 3\)\n  stage1.epochs +5  \(preset: 3\)\n", bad)
    assert re.search(r"Other settings\n.*batch_size 32", bad, re.DOTALL)
    failure = bad.partition("\nFailure\n")[2].partition("\n\n")[0].splitlines()
    assert [line.rstrip().split(maxsplit=1) for line in failure] == [
        ["kind", "out of memory"],
        ["error", "[2Jno memory"],
        ["at", "session.py:212 _step"],
        ["at", "[31mloss.py:3 loss"],
    ]


def test_show_has_failure_and_alarms_above_progress_and_the_typed_command(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["/usr/bin/clarinet", "sweep", "--tasks", "U->M", "--on-alarm", "./notify secret", "--notify=ntfy://secret"]
    monkeypatch.setattr("sys.argv", words)
    run = make_run(runs, id="ddd444")
    write_events(run, [started(), Alarmed(kind="collapse", message="few classes", advice="wait", iteration=7)])
    write_events(run, [Failed(iteration=9, message="no memory", kind="out of memory")])
    shown = invoke(runs, "show", "ddd").stdout
    titles = [line for line in shown.splitlines() if line and not line.startswith(" ")]
    assert titles[1:4] == ["Failure", "Alarms", "Progress"]
    assert "few classes (since iteration 7)" in shown
    assert re.search(r"command +clarinet sweep --tasks 'U->M' --on-alarm ... --notify=...", shown)
    assert "secret" not in (run.annotations.read_text() + shown)
    assert json.loads(invoke(runs, "show", "aaa", "--json").stdout)["command"].startswith("clarinet run --headless ")


def test_show_as_json(runs: Path) -> None:
    shown = json.loads(invoke(runs, "show", "bbb222", "--json").stdout)
    stable = (
        "id state method task seed preset device stage epoch epochs_total iteration target_accuracy source_accuracy"
    )
    assert {*stable.split(), "created", "started", "ended", "tags", "error"} <= shown.keys()
    assert (shown["state"], shown["config"]["epochs"]) == ("failed", 7)
    assert shown["changed"] == {
        "epochs": {"default": 3, "value": 7},
        "stage1.epochs": {"default": 3, "value": 5},
    }
    assert shown["events_tail"][-1]["frames"][0] == "session.py:212 _step"


def test_show_with_unreadable_settings_and_unknown_method(runs: Path) -> None:
    (runs / "ccc333" / "config.toml").write_text("epochs = 'ten'")
    (runs / "eee555").mkdir()
    (runs / "eee555" / "config.toml").write_text("method = 'of-a-plug-in'")
    damaged = invoke(runs, "show", "ccc")
    assert (damaged.exit_code, "expected an integer" in damaged.stdout) == (0, True)
    assert json.loads(invoke(runs, "show", "ccc", "--json").stdout)["config"] is None
    unknown = invoke(runs, "show", "eee").stdout
    assert 'no method "of-a-plug-in"' in unknown
    assert "batch_size 128" in unknown


def test_database_path_from_the_environment(tmp_path: Path, runs: Path) -> None:
    (runs / "clarinet.db").unlink()
    arguments = [*CLARINET, "ls", "-q"]
    environment = cli_environment() | {"CLARINET_DB": "local/history.db"}
    done = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, timeout=60, env=environment)
    assert done.stdout.splitlines() == ["ccc333", "bbb222", "aaa111"]
    assert (tmp_path / "local" / "history.db").exists()
    assert not (runs / "clarinet.db").exists()


def test_reindex_finds_lost_and_cancelled_runs(runs: Path) -> None:
    lost = make_run(runs, id="ddd444")
    write_events(lost, [started()])
    write_lock(lost, start=-1.0)
    cancelled = runs / "ccc333" / "annotations.jsonl"
    cancelled.write_text('{"event": "created", "time": 1000.0}\n')  # old, and not in the queue
    before = invoke(runs, "ls", "--json").stdout
    assert invoke(runs, "reindex").exit_code == 0
    with closing(sqlite3.connect(runs / "clarinet.db")) as db:
        states = dict(db.execute("SELECT id, state FROM runs"))
    assert states == {"aaa111": "finished", "bbb222": "failed", "ccc333": "stopped", "ddd444": "lost"}
    assert invoke(runs, "ls", "--json").stdout == before


def test_reindex_names_unreadable_runs_and_reads_the_others(runs: Path) -> None:
    damaged = make_run(runs, id="zzz999")  # the newest, so that it comes first
    damaged.journal.mkdir()
    done = invoke(runs, "reindex")
    assert done.exit_code == 0, done.exception
    assert "run zzz999 cannot be read" in done.stderr
    assert "journal.jsonl: is not a regular file" in done.stderr
    with closing(sqlite3.connect(runs / "clarinet.db")) as db:
        assert db.execute("SELECT count(*) FROM evaluations").fetchone() == (2,)


def test_ls_works_with_an_unreadable_lost_run(runs: Path) -> None:
    run = make_run(runs, id="ddd444")
    write_events(run, [started()])
    assert ids(runs, "state:running") == ["ddd444"]
    run.journal.unlink()
    run.journal.mkdir()
    write_lock(run, start=-1.0)
    assert ids(runs, "state:lost") == ["ddd444"]


@pytest.mark.parametrize("arguments", [["ls"], ["show", "aaa"], ["reindex"], ["queue"], ["doctor"]])
def test_runs_directory_that_is_a_file_is_one_sentence(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "runs").write_text("mine")
    done = run_clarinet(tmp_path, *arguments)
    assert "Traceback" not in done.stderr
    if arguments != ["doctor"]:
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
        assert re.match("clarinet: runs: is not a directory|clarinet: runs/queue.json: Not a directory", done.stderr)
    assert (tmp_path / "runs").read_text() == "mine"


def test_listing_a_directory_that_does_not_exist_does_not_make_it(tmp_path: Path) -> None:
    assert "No runs yet" in invoke(tmp_path / "misspelt", "ls").stdout
    assert not (tmp_path / "misspelt").exists()


def test_show_lists_damaged_lines_and_the_failure(runs: Path) -> None:
    journal = runs / "bbb222" / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(lines[0] + b"{garbage\n" + b"".join(lines[1:]) + b"\xff\n")
    last = len(lines) + 2
    shown = invoke(runs, "show", "bbb").stdout
    assert "line 2 cannot be read and was skipped" in shown
    assert f"line {last} cannot be read and was skipped" in shown
    assert "out of memory" in shown
    content = json.loads(invoke(runs, "show", "bbb", "--json").stdout)
    assert [message.split()[1] for message in content["damaged"]] == ["2", str(last)]
    assert "Journal" not in invoke(runs, "show", "aaa").stdout
