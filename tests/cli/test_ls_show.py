"""`clarinet ls`, `show` and `reindex` on real journals."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from clarinet_tui.cli.lookup import progress_line
from clarinet_tui.runs.annotations import add_tag
from core.events import Alarmed, Failed, Finished
from tests.support.cli import invalid, invoke, invoke_json, run_clarinet
from tests.support.events import evaluation, started, step
from tests.support.histories import make_run, open_history, write_events, write_lock


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
    frames = ["train.py:212 _train_stage", "\x1b[31mloss.py:3 loss"]
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
    assert "target_accuracy" in invalid(runs, "ls", "--sort", "colour")


def test_settings_are_columns_of_ls(runs: Path) -> None:
    for rate in (0.003, 0.03):
        make_run(runs, id=f"rate{rate:g}".replace(".", ""), method="basset", classifier_rate=rate, preset="smoke")
    assert ids(runs, "--sort", "classifier_rate", "--limit", "2")[0] == "rate003"
    assert ids(runs, "method:basset", "--sort", "classifier_rate", "-r") == ["rate0003", "rate003"]
    listed = invoke(runs, "ls", "method:basset").stdout.splitlines()
    assert ["classifier_rate" in line for line in listed] == [True, False, False]
    assert {line.split()[0]: line.split()[6] for line in listed[1:]} == {"rate003": "0.03", "rate0003": "0.003"}
    assert "classifier_rate" not in invoke(runs, "ls", "id:rate003").stdout
    chosen = invoke(runs, "ls", "method:basset", "--columns", "id,stage1.epochs,waits-for,created").stdout
    assert chosen.splitlines()[0].split() == ["id", "stage1.epochs", "waits", "for", "created"]
    assert "did you mean classifier_rate?" in invalid(runs, "ls", "--columns", "id,clasifier_rate")
    assert "titles of columns" in invalid(runs, "ls", "--columns", "zebra")


def test_conditions_of_a_query_may_be_several_arguments(runs: Path) -> None:
    assert ids(runs, "state:finished", "seed:3") == ids(runs, "state:finished seed:3") == ["aaa111"]
    assert ids(runs, "seed:3", "OR", "state:failed") == ["bbb222", "aaa111"]
    assert "query, character 8" in invalid(runs, "ls", "seed:3", "colour:red")


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


def test_show_groups_settings_notes_and_failure(runs: Path) -> None:
    good = invoke(runs, "show", "aaa").stdout
    assert re.search(r"^aaa111  clarinet  U->M  seed 3$", good, re.MULTILINE)
    assert re.search(r"note +\[bold\]made data\[/x\]", good)
    assert not re.search(r"differ|Failure", good)
    bad = invoke(runs, "show", "bbb").stdout
    assert re.search(r"differ from preset smoke\n  epochs +7  \(preset: 3\)\n  stage1.epochs +5  \(preset: 3\)\n", bad)
    assert re.search(r"Other settings\n.*batch_size 32", bad, re.DOTALL)
    content = invoke_json(runs, "show", "bbb222")
    assert (content["state"], content["config"]["epochs"]) == ("failed", 7)
    assert content["changed"] == {"epochs": {"default": 3, "value": 7}, "stage1.epochs": {"default": 3, "value": 5}}
    assert content["events_tail"][-1]["frames"][0] == "train.py:212 _train_stage"
    failure = bad.partition("\nFailure\n")[2].partition("\n\n")[0].splitlines()
    assert [line.rstrip().split(maxsplit=1) for line in failure] == [
        ["kind", "out of memory"],
        ["error", "[2Jno memory"],
        ["at", "train.py:212 _train_stage"],
        ["at", "[31mloss.py:3 loss"],
    ]


def test_alarms_are_listed_and_shown_below_the_failure_with_the_typed_command(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["/usr/bin/clarinet", "sweep", "--tasks", "U->M", "--on-alarm", "./notify secret", "--notify=ntfy://secret"]
    monkeypatch.setattr("sys.argv", words)
    run = make_run(runs, id="ddd444")
    write_events(run, [started(), Alarmed(kind="collapse", message="few\x1b[31m classes", advice="wait", iteration=7)])
    write_events(run, [Failed(iteration=9, message="no memory", kind="out of memory")])
    header, first = invoke(runs, "ls", "id:ddd").stdout.splitlines()
    assert (header.split()[-1], first.split()[-1]) == ("alarms", "collapse")
    assert "alarms" not in invoke(runs, "ls", "id:aaa").stdout
    assert invoke_json(runs, "ls", "alarm:collapse")[0]["alarms"] == ["collapse"]
    (alarm,) = invoke_json(runs, "show", "ddd")["open_alarms"]
    assert (alarm["kind"], alarm["iteration"], alarm["advice"]) == ("collapse", 7, "wait")
    shown = invoke(runs, "show", "ddd").stdout
    titles = [line for line in shown.splitlines() if line and not line.startswith(" ")]
    assert titles[1:4] == ["Failure", "Alarms", "Progress"]
    assert "few[31m classes (since iteration 7)" in shown
    assert "wait" in shown
    assert "\x1b" not in shown
    assert re.search(r"command +clarinet sweep --tasks 'U->M' --on-alarm ... --notify=...", shown)
    assert "secret" not in (run.annotations.read_text() + shown)
    assert invoke_json(runs, "show", "aaa")["command"].startswith("clarinet run --headless ")


def test_show_with_unreadable_settings_and_unknown_method(runs: Path) -> None:
    (runs / "ccc333" / "config.toml").write_text("epochs = 'ten'")
    (runs / "eee555").mkdir()
    (runs / "eee555" / "config.toml").write_text("method = 'of-a-plug-in'")
    damaged = invoke(runs, "show", "ccc")
    assert (damaged.exit_code, "expected an integer" in damaged.stdout) == (0, True)
    assert invoke_json(runs, "show", "ccc")["config"] is None
    unknown = invoke(runs, "show", "eee").stdout
    assert 'no method "of-a-plug-in"' in unknown
    assert "batch_size 128" in unknown


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


def test_ls_detects_a_lost_run_also_if_it_becomes_unreadable(runs: Path) -> None:
    run = make_run(runs, id="ddd444")
    write_events(run, [started()])
    assert ids(runs, "state:running") == ["ddd444"]
    write_lock(run, start=-1.0)
    assert ids(runs, "state:lost") == ["ddd444"]
    assert "clarinet resume ddd444" in invoke(runs, "show", "ddd").stdout
    run.journal.unlink()
    run.journal.mkdir()
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
    content = invoke_json(runs, "show", "bbb")
    assert [message.split()[1] for message in content["damaged"]] == ["2", str(last)]
    assert "Journal" not in invoke(runs, "show", "aaa").stdout
