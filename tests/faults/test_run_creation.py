"""Creating runs while the process is killed or the disk is full: a run is there completely, or not at all."""

import os
import signal
from pathlib import Path

import pytest

from clarinet_tui.place import LaunchOptions
from clarinet_tui.queue.local import LocalPlace
from clarinet_tui.queue.queue_file import read_queue
from clarinet_tui.runs.directory import LEFTOVER_AGE, RunDirectory, list_run_ids, remove_leftovers
from core.errors import InputError
from core.resolve import resolve
from tests.support.disks import fill, small_disk
from tests.support.forked_python import call_in_process
from tests.support.supervised import make_fault_run, running_supervisor, wait_until


def create_until_sync(runs: Path, number: int) -> None:
    """Create a run, and kill this process when it syncs a file for this time."""
    calls = iter(range(100))

    def sync(fd: object) -> None:
        if next(calls) == number:
            os.kill(os.getpid(), signal.SIGKILL)

    os.fsync = sync
    make_fault_run(runs, "job42")


@pytest.mark.parametrize("sync", [0, 1, 2])
def test_a_run_that_is_killed_while_it_is_created_can_be_created_again(runs: Path, sync: int) -> None:
    assert call_in_process(create_until_sync, runs, sync) == -signal.SIGKILL
    assert list_run_ids(runs) == []
    assert not (runs / "job42").exists()
    (leftover,) = runs.iterdir()
    run = make_fault_run(runs, "job42")
    assert run.read_config().device == "cpu"
    os.utime(leftover, (1.0, 1.0))
    with running_supervisor(runs):
        wait_until(lambda: not leftover.exists(), runs)
    assert run.config.exists()


@pytest.mark.parametrize("name", ["config.toml", "journal.jsonl", "thesis.tex"])
def test_a_directory_with_other_files_is_never_replaced(runs: Path, name: str) -> None:
    (runs / "job42").mkdir()
    (runs / "job42" / name).write_text("precious")
    with pytest.raises(InputError, match="job42 already exists"):
        make_fault_run(runs, "job42")
    assert [path.name for path in (runs / "job42").iterdir()] == [name]
    assert list(runs.iterdir()) == [runs / "job42"]


def test_a_sweep_that_does_not_fit_on_the_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clarinet_tui.queue.local.ensure_supervisor", lambda runs_dir: None)
    configs = [resolve(preset="smoke", seed=seed, device="cpu") for seed in range(1, 9)]
    with small_disk(tmp_path / "disk", "1m") as disk:
        runs, options = disk / "runs", LaunchOptions.from_paths(tmp_path, tmp_path)
        (first,) = LocalPlace(runs).submit(configs[:1], options)
        filler = fill(disk)
        os.truncate(filler, filler.stat().st_size - (1 << 15))  # room for some of the runs
        before = sorted(path.name for path in runs.iterdir())
        with pytest.raises(InputError, match="No space left on device"):
            LocalPlace(runs).submit(configs, options)
        assert sorted(path.name for path in runs.iterdir()) == before
        assert [entry.id for entry in read_queue(runs).entries] == [first.id]
        filler.unlink()
        assert len(LocalPlace(runs).submit(configs, options)) == len(configs)
        assert len(read_queue(runs).entries) == len(configs) + 1


def test_runs_that_cannot_be_queued_are_not_left_behind(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    runs.mkdir()
    (runs / "queue.json").write_text("{")
    configs = [resolve(preset="smoke", seed=seed, device="cpu") for seed in (1, 2)]
    with pytest.raises(InputError, match="not a queue"):
        LocalPlace(runs).submit(configs, LaunchOptions.from_paths(tmp_path, tmp_path))
    assert list_run_ids(runs) == []


def test_only_old_temporary_files_are_leftovers(tmp_path: Path) -> None:
    names = [".queue.json.123", ".slurm.1001.json.4", ".new-1-00ff", ".queue.json", ".new", "queue.json", ".trash"]
    for name in names:
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (1000.0, 1000.0))
    (tmp_path / ".new-2-00ff").mkdir()
    (tmp_path / ".new-2-00ff" / "config.toml").touch()
    os.utime(tmp_path / ".new-2-00ff", (1000.0, 1000.0))
    assert remove_leftovers(tmp_path, now=lambda: 1000.0 + LEFTOVER_AGE - 1) == []
    removed = remove_leftovers(tmp_path, now=lambda: 1000.0 + LEFTOVER_AGE)
    assert sorted(removed) == [".new-1-00ff", ".new-2-00ff", ".queue.json.123", ".slurm.1001.json.4"]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(set(names) - set(removed))


def test_two_runs_of_one_name_are_never_mixed(runs: Path) -> None:
    first = make_fault_run(runs, "job42", "steps=1")
    with pytest.raises(InputError, match="already exists"):
        make_fault_run(runs, "job42", "steps=2")
    assert RunDirectory(runs, "job42").read_config().name == first.read_config().name == "steps=1"
