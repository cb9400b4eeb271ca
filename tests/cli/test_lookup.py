"""Every command that takes runs takes `last` and names, and those that take several take queries."""

from pathlib import Path

import pytest

from clarinet_tui.history.database import DATABASE_NAME
from clarinet_tui.queue.queue_file import read_queue
from clarinet_tui.runs.directory import RunDirectory, list_run_ids
from clarinet_tui.ui.main import main
from core.config import RunConfig
from core.events import Stopped
from tests.support.cli import invalid, invoke, invoke_json
from tests.support.events import started, step
from tests.support.histories import make_run, write_events
from tests.support.trained_runs import make_trained_run

OLDEST, MIDDLE, NEWEST = "zzz111", "mmm222", "aaa333"


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three runs, of which two belong to a sweep, without a supervisor."""
    monkeypatch.setattr("clarinet_tui.queue.local.ensure_supervisor", lambda runs_dir: None)
    monkeypatch.chdir(tmp_path)
    runs = tmp_path / "runs"
    make_trained_run(runs, OLDEST, [50.0, 60.0], method="gac+dann", name="baseline", seed=1)
    for run, seed in ((MIDDLE, 1), (NEWEST, 2)):
        make_run(runs, id=run, method="basset", seed=seed, sweep="first", name=f"rate {seed}")
    return runs


def succeed(runs: Path, *arguments: str) -> str:
    done = invoke(runs, *arguments)
    assert done.exit_code == 0, (done.output, done.exception)
    return done.stdout


def waiting(runs: Path) -> list[str]:
    return [entry.id for entry in read_queue(runs).waiting]


@pytest.mark.parametrize(
    ("word", "run"), [("last", NEWEST), ("last-2", OLDEST), ("baseline", OLDEST), ("rate 1", MIDDLE), ("m", MIDDLE)]
)
def test_commands_for_one_run(runs: Path, word: str, run: str) -> None:
    assert invoke_json(runs, "show", word)["id"] == run
    assert invoke_json(runs, "diff", word, "zzz")["first"] == run
    succeed(runs, "metrics", word)
    succeed(runs, "logs", word)
    for command in (["inspect", word], ["save", word, "--out", "m.onnx"], ["predict", word, "."], ["verify", word]):
        assert "no run in" not in str(invoke(runs, *command).exception)
    refused = invalid(runs, "show", "sweep:first")
    assert refused.startswith("expected one run, got the query 'sweep:first'")
    clone = succeed(runs, "clone", word, "--seed", "77").split()[0]
    assert RunDirectory(runs, clone).read_config().method == RunDirectory(runs, run).read_config().method


def test_runs_to_wait_for(runs: Path) -> None:
    waits = ("--after", "last", "--after", "sweep:first")
    (new,) = invoke_json(runs, "sweep", "--preset", "smoke", "--tasks", "U->M", *waits)
    assert read_queue(runs)[new].after == (NEWEST, MIDDLE)


def test_queries_for_several_runs(runs: Path) -> None:
    assert succeed(runs, "tag", "sweep:first", "baseline", "--add", "icml") == "3 runs tagged\n"
    assert succeed(runs, "tag", "last", "--drop", "icml") == "1 run untagged\n"
    succeed(runs, "note", "sweep:first seed:1..9", "both")
    assert {row["id"]: (row["tags"], row["note"]) for row in invoke_json(runs, "ls")} == {
        NEWEST: ([], "both"),
        MIDDLE: (["icml"], "both"),
        OLDEST: (["icml"], ""),
    }
    succeed(runs, "resume", "method:basset -seed:9")
    assert waiting(runs) == [MIDDLE, NEWEST], "in the order of their creation"
    succeed(runs, "queue", "move", "sweep:first seed:2")
    assert waiting(runs) == [NEWEST, MIDDLE]
    succeed(runs, "queue", "pause", "sweep:first seed:2")
    assert [entry.id for entry in read_queue(runs).waiting if entry.paused] == [NEWEST]
    succeed(runs, "queue", "continue", "sweep:first")
    assert succeed(runs, "queue", "cancel", "sweep:first seed:1") == "1 cancelled\n"
    assert succeed(runs, "stop", "sweep:first seed:2") == f"{NEWEST} removed from the queue\n"
    assert succeed(runs, "export", "sweep:first", "last", "--out", "x.csv") == "Written: x.csv (2 rows of 2 runs)\n"
    assert succeed(runs, "check", "sweep:first", "zz") == "3 runs of 3 agree with their journals\n"
    assert [run["id"] for run in invoke_json(runs, "compare", "sweep:first", OLDEST)["runs"]] == [
        MIDDLE,
        NEWEST,
        OLDEST,
    ]


def test_a_query_without_a_match_and_an_unknown_word_change_nothing(runs: Path) -> None:
    for command in (["stop"], ["resume"], ["rm"], ["tag", "--add", "x"], ["queue", "cancel"], ["check"], ["compare"]):
        assert invalid(runs, *command, "sweep:none") == "no run matches 'sweep:none'"
        assert invalid(runs, *command, "sweep:first", "bas").startswith("no run in ")
        assert "expected a" in invalid(runs, *command, "seed:x")
    assert {row["id"] for row in invoke_json(runs, "ls")} == {OLDEST, MIDDLE, NEWEST}
    assert not any(row["tags"] for row in invoke_json(runs, "ls"))


def test_rm_names_what_it_removed_and_undo_takes_its_id(runs: Path) -> None:
    removed = succeed(runs, "rm", "sweep:first")
    assert [line.split()[0] for line in removed.splitlines()] == [MIDDLE, NEWEST]
    assert list_run_ids(runs) == [OLDEST]
    succeed(runs, "rm", "--undo", MIDDLE)
    assert invoke_json(runs, "show", "last")["id"] == MIDDLE


def test_ids_need_no_history(runs: Path) -> None:
    write_events(RunDirectory(runs, NEWEST), [started(), step(1), Stopped(iteration=1)])
    succeed(runs, "note", NEWEST[:3], "without")
    assert not (runs / DATABASE_NAME).exists()
    succeed(runs, "note", "last", "with")
    assert (runs / DATABASE_NAME).exists()


def test_the_app_takes_the_same_words(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, message in (
        (["last"], "use `clarinet ls`"),
        (["sweep:first", "baseline"], "use `clarinet ls`"),
        (["sweep:none"], "no run matches 'sweep:none'"),
        (["nothing"], "or this name"),
    ):
        with pytest.raises(SystemExit):
            main([*words, "--runs-dir", str(runs)])
        assert message in capsys.readouterr().err
    for seed in range(8):
        RunDirectory.create(runs, RunConfig(seed=seed))
    with pytest.raises(SystemExit):
        main(["seed:0..9", "--runs-dir", str(runs)])
    assert "expected at most 8 runs to overlay, got 11" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["last", "--runs-dir", str(runs / "nowhere")])
    assert "nowhere has 0 runs" in capsys.readouterr().err
    assert not (runs / "nowhere").exists()
