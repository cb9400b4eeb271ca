"""Texts and files that mean harm, through the real command line: literal text or a sentence, and nothing is done."""

import os
import pickle
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from clarinet_tui.queue.queue_file import read_queue
from clarinet_tui.runs.annotations import add_tag
from clarinet_tui.runs.directory import RunDirectory
from core.errors import InputError
from core.events import Failed, Noticed
from core.resolve import resolve
from tests.support.events import started, step
from tests.support.histories import say
from tests.support.supervised import fed, make, put, until
from tests.support.workers import make_task, tiny_run

CLARINET = [sys.executable, "-P", "-c", "from clarinet_tui.cli.main import main; main()"]
EVIL = "\x1b[31mred\x1b]0;title\x07[bold]x[/bold]'; DROP TABLE runs;--\u202e\x9b2J"
SHOWN = "[31mred]0;title[bold]x[/bold]'; DROP TABLE runs;--2J"
STEERS = "\x1b\x07\x9b\u202e"


def clarinet(runs: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "CLARINET_RUNS": str(runs), "NO_COLOR": "1"}
    return subprocess.run([*CLARINET, *words], cwd=runs, capture_output=True, text=True, env=environment, timeout=60)


def told(runs: Path, *words: str) -> str:
    """What the command says to people; nothing in it steers a terminal."""
    done = clarinet(runs, *words)
    assert done.returncode == 0, done.stderr
    assert not set(done.stdout) & set(STEERS)
    return done.stdout


def refused(runs: Path, *words: str) -> str:
    done = clarinet(runs, *words)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1), done.stderr
    assert not set(done.stderr) & set(STEERS)
    return done.stderr


@pytest.fixture
def evil(runs: Path) -> RunDirectory:
    """A run whose every text means harm."""
    run = make(runs, "evil", EVIL)
    failed = Failed(iteration=1, message=EVIL, kind=EVIL, frames=[EVIL])
    say(run, [started(notes=[EVIL]), step(1), Noticed(iteration=1, message=EVIL), failed])
    run.log.write_text(EVIL + "\n")
    return run


def test_texts_of_runs_are_shown_as_they_are(runs: Path, evil: RunDirectory) -> None:
    add_tag(evil, "';DROP_TABLE_tags;--[red]")
    assert clarinet(runs, "note", "evil", EVIL).returncode == 0
    assert "';DROP_TABLE_tags;--[red]" in told(runs, "ls", f"name:{EVIL}")
    assert told(runs, "show", "evil").count(SHOWN) >= 6  # name, note, note of the data, kind, error and frame
    assert told(runs, "logs", "evil").count(SHOWN) == 4
    assert "evil" in told(runs, "ls", "tag:';DROP_TABLE_tags;--[red]")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["tag", "evil", "--add", "two\nlines"], r"tag: expected 1 to 64 printable characters without spaces"),
        (["show", "../../x"], "no run in"),
        (["rm", "../outside"], "no run in"),
        (["rm", "--undo", "../outside"], "run '../outside': is not in"),
        (["run", "--headless", "--run-id", "linked", "--preset", "smoke"], "is a symbolic link"),
        (["ls", "--sort", "id; DROP TABLE runs"], "sort: expected one of"),
        (["run", "--headless", "--task", EVIL], "task: expected SOURCE->TARGET"),
        (["run", "large.toml", "--headless"], "large.toml: larger than 1 MB"),
    ],
)
def test_tricks_are_refused_and_touch_nothing(
    runs: Path, evil: RunDirectory, words: list[str], sentence: str, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "config.toml").write_text("precious")
    (runs / "linked").symlink_to(outside)
    (runs / "large.toml").write_text(f'name = "{"x" * 10_000_000}"\n')
    assert sentence in refused(runs, *words)
    assert [(path.name, path.read_text()) for path in outside.iterdir()] == [("config.toml", "precious")]
    assert sorted(path.name for path in runs.iterdir() if path.is_dir()) == ["evil", "linked"]


def test_a_run_whose_settings_are_hostile_is_listed_with_the_reason(runs: Path, evil: RunDirectory) -> None:
    deep, large = make(runs, "deep"), make(runs, "large")
    deep.config.write_text("a = " + "[" * 50_000 + "]" * 50_000)
    large.config.write_text(f'name = "{"x" * 10_000_000}"\n')
    listed = told(runs, "ls")
    assert all(name in listed for name in ("evil", "deep", "large"))
    assert "nested deeper than any run's settings are" in told(runs, "show", "deep")
    assert "larger than 1 MB" in told(runs, "show", "large")


def test_settings_that_could_not_be_read_back_make_no_run(runs: Path) -> None:
    with pytest.raises(InputError, match="less than 1 MB"):
        RunDirectory.create(runs, resolve(preset="smoke", weights="x" * 2_000_000))
    assert list(runs.iterdir()) == []


class Payload:
    def __init__(self, touched: Path) -> None:
        self.touched = touched

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.touched),)


def test_a_checkpoint_that_carries_code_is_not_run(runs: Path, tmp_path: Path) -> None:
    run = tiny_run(runs, make_task(tmp_path), "one", "clarinet")
    say(run, [started(), step(1)])
    run.checkpoint.write_bytes(pickle.dumps({"format": 1, "state": Payload(tmp_path / "touched")}, protocol=2))
    assert "holds code or foreign objects, which are never loaded" in refused(
        runs, "run", "--headless", "--resume", "one"
    )
    assert not (tmp_path / "touched").exists()


def test_a_queue_written_by_hand_reaches_nothing_outside(runs: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "config.toml").write_text("precious")
    (runs / "linked").symlink_to(outside)
    sound = make(runs, "sound", "steps=3")
    put(sound)
    queue = (runs / "queue.json").read_text()
    for name in ("../outside", "linked"):
        queue = queue.replace('"entries": [', f'"entries": [{{"id": "{name}", "folder": "/", "data_dir": "/"}},', 1)
    (runs / "queue.json").write_text(queue)
    with fed(runs):
        until(lambda: not read_queue(runs).entries, runs)
    assert [path.name for path in outside.iterdir()] == ["config.toml"]
    for path in (sound.log, sound.environment):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
