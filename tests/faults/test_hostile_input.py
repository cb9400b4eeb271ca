"""Hostile texts and files, through the real command line: shown literally or refused, never executed."""

import os
import pickle
import stat
from pathlib import Path

import pytest

from clarinet_tui.queue.queue_file import read_queue
from clarinet_tui.runs.annotations import add_tag
from clarinet_tui.runs.directory import RunDirectory
from core.errors import InputError
from core.events import Failed, Noticed
from core.resolve import resolve
from tests.support.cli import run_clarinet
from tests.support.events import started, step
from tests.support.histories import write_events
from tests.support.supervised import enqueue_directly, make_fault_run, running_supervisor, wait_until
from tests.support.workers import make_task, tiny_run

HOSTILE = "\x1b[31mred\x1b]0;title\x07[bold]x[/bold]'; DROP TABLE runs;--\u202e\x9b2J"
SHOWN = "[31mred]0;title[bold]x[/bold]'; DROP TABLE runs;--2J"
CONTROL_CHARACTERS = "\x1b\x07\x9b\u202e"


def output_of(runs: Path, *arguments: str) -> str:
    """Return what the command prints, after checking that it holds no control characters."""
    result = run_clarinet(runs.parent, *arguments)
    assert result.returncode == 0, result.stderr
    assert not set(result.stdout) & set(CONTROL_CHARACTERS)
    return result.stdout


def error_of(runs: Path, *arguments: str) -> str:
    """Return the one line with which the command refuses its input."""
    result = run_clarinet(runs.parent, *arguments)
    assert (result.returncode, result.stdout, len(result.stderr.splitlines())) == (2, "", 1), result.stderr
    assert not set(result.stderr) & set(CONTROL_CHARACTERS)
    return result.stderr


@pytest.fixture
def hostile(runs: Path) -> RunDirectory:
    """A run whose texts are all hostile."""
    run = make_fault_run(runs, "hostile", HOSTILE)
    failed = Failed(iteration=1, message=HOSTILE, kind=HOSTILE, frames=[HOSTILE])
    write_events(run, [started(notes=[HOSTILE]), step(1), Noticed(iteration=1, message=HOSTILE), failed])
    run.log.write_text(HOSTILE + "\n")
    return run


def test_texts_of_runs_are_shown_literally(runs: Path, hostile: RunDirectory) -> None:
    add_tag(hostile, "';DROP_TABLE_tags;--[red]")
    assert run_clarinet(runs.parent, "note", "hostile", HOSTILE).returncode == 0
    assert "';DROP_TABLE_tags;--[red]" in output_of(runs, "ls", f"name:{HOSTILE}")
    assert output_of(runs, "show", "hostile").count(SHOWN) >= 6  # name, note, note of the data, kind, error and frame
    assert output_of(runs, "logs", "hostile").count(SHOWN) == 5  # worker.log, note, notice, error and frame
    assert "hostile" in output_of(runs, "ls", "tag:';DROP_TABLE_tags;--[red]")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tag", "hostile", "--add", "two\nlines"], r"tag: expected 1 to 64 printable characters without spaces"),
        (["show", "../../x"], "no run in"),
        (["rm", "../outside"], "no run in"),
        (["rm", "--undo", "../outside"], "run '../outside': is not in"),
        (["run", "--headless", "--run-id", "linked", "--preset", "smoke"], "is a symbolic link"),
        (["ls", "--sort", "id; DROP TABLE runs"], "sort: expected one of"),
        (["run", "--headless", "--task", HOSTILE], "task: expected SOURCE->TARGET"),
        (["run", "large.toml", "--headless"], "large.toml: expected at most 1 MB"),
    ],
)
def test_hostile_arguments_are_refused_and_change_nothing(
    runs: Path, hostile: RunDirectory, arguments: list[str], message: str, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "config.toml").write_text("precious")
    (runs / "linked").symlink_to(outside)
    (tmp_path / "large.toml").write_text(f'name = "{"x" * 10_000_000}"\n')
    assert message in error_of(runs, *arguments)
    assert [(path.name, path.read_text()) for path in outside.iterdir()] == [("config.toml", "precious")]
    assert sorted(path.name for path in runs.iterdir() if path.is_dir()) == ["hostile", "linked"]


def test_a_run_with_unreadable_settings_is_listed_with_the_reason(runs: Path, hostile: RunDirectory) -> None:
    deep, large = make_fault_run(runs, "deep"), make_fault_run(runs, "large")
    deep.config.write_text("a = " + "[" * 50_000 + "]" * 50_000)
    large.config.write_text(f'name = "{"x" * 10_000_000}"\n')
    listed = output_of(runs, "ls")
    assert all(name in listed for name in ("hostile", "deep", "large"))
    assert "too deeply nested" in output_of(runs, "show", "deep")
    assert "expected at most 1 MB" in output_of(runs, "show", "large")


def test_settings_too_large_to_read_back_create_no_run(runs: Path) -> None:
    with pytest.raises(InputError, match="less than 1 MB"):
        RunDirectory.create(runs, resolve(preset="smoke", weights="x" * 2_000_000))
    assert list(runs.iterdir()) == []


class Payload:
    """Creates a folder when it is unpickled."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.folder),)


def test_code_in_a_checkpoint_is_not_executed(runs: Path, tmp_path: Path) -> None:
    run = tiny_run(runs, make_task(tmp_path), "one", "clarinet")
    write_events(run, [started(), step(1)])
    run.checkpoint.write_bytes(pickle.dumps({"format": 1, "state": Payload(tmp_path / "executed")}, protocol=2))
    assert "contains code or foreign objects, which are never loaded" in error_of(
        runs, "run", "--headless", "--resume", "one"
    )
    assert not (tmp_path / "executed").exists()


def test_a_hand_written_queue_cannot_reach_outside_the_runs_directory(runs: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "config.toml").write_text("precious")
    (runs / "linked").symlink_to(outside)
    valid = make_fault_run(runs, "valid", "steps=3")
    enqueue_directly(valid)
    queue = (runs / "queue.json").read_text()
    for name in ("../outside", "linked"):
        queue = queue.replace(
            '"entries": [', f'"entries": [{{"id": "{name}", "working_directory": "/", "data_dir": "/"}},', 1
        )
    (runs / "queue.json").write_text(queue)
    with running_supervisor(runs):
        wait_until(lambda: not read_queue(runs).entries, runs)
    assert [path.name for path in outside.iterdir()] == ["config.toml"]
    for path in (valid.log, valid.environment):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
