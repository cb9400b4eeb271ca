"""A run's directory: ids, settings, lists of runs, their size and their states."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clarinet_tui.doctor.checks import check_runs_size
from clarinet_tui.runs import directory
from clarinet_tui.runs.directory import (
    IDS,
    STEP,
    DiskUse,
    RunDirectory,
    create_runs,
    disk_use,
    find_run,
    is_valid_id,
    list_run_ids,
    list_runs,
    new_id,
)
from clarinet_tui.runs.state import FINAL_EVENTS, RunState
from core.errors import InputError
from core.events import Failed, Finished, Stopped
from core.models.checkpoint import PREVIOUS
from core.resolve import resolve
from tests.support.cli import invoke
from tests.support.histories import make_run

CONFIG = resolve(preset="smoke")


def test_an_id_that_exists_is_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chances = iter(["abc123def", "abc123def", "xyz123def"])
    monkeypatch.setattr("clarinet_tui.runs.directory.new_id", lambda: next(chances))
    made = [RunDirectory.create(tmp_path, CONFIG) for _ in range(2)]
    assert [run.id for run in made] == ["abc123def", "xyz123def"]
    with pytest.raises(InputError, match="already exists"):
        RunDirectory.create(tmp_path, CONFIG, id=made[0].id)


def test_ids_of_a_process_differ_and_so_do_their_first_digits() -> None:
    ids = [new_id() for _ in range(100_000)]
    assert all(is_valid_id(made) and len(made) == 9 for made in ids)
    assert len(set(ids)) == len({made[:5] for made in ids}) == len(ids)
    assert len({made[:4] for made in ids[:1000]}) == len({made[:3] for made in ids[:1000]}) == 1000
    assert sorted(ids[:100]) != ids[:100]


@given(st.integers(0, IDS - 1))
def test_no_id_is_a_number_or_begins_with_last(start: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "urandom", lambda count: start.to_bytes(count, "big"))
        directory._start_ids()
        made = new_id()
    assert is_valid_id(made)
    assert not made.startswith("last")
    with pytest.raises(ValueError, match="could not convert"):
        float(made)


@pytest.mark.parametrize("misread", ["last00000", "last5zzzz", "123456789", "12345e678"])
def test_ids_that_would_be_misread_are_skipped(misread: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first = int(misread, 36) * pow(STEP, -1, IDS) % IDS
    monkeypatch.setattr(os, "urandom", lambda count: first.to_bytes(count, "big"))
    directory._start_ids()
    made, following = new_id(), (first + 1) * STEP % IDS
    assert int(made, 36) == following


def test_ids_of_different_processes_share_few_first_digits() -> None:
    ids = []
    for _ in range(1000):
        directory._start_ids()  # as a new process does
        ids.append(new_id())
    assert len(set(ids)) == 1000
    assert len({made[:3] for made in ids}) > 960
    assert len({made[:4] for made in ids}) > 990


def test_a_forked_child_makes_other_ids() -> None:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, "\n".join(new_id() for _ in range(100)).encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as made:
        others = set(made.read().split())
    assert len(others) == 100
    assert not others & {new_id() for _ in range(1000)}


def test_old_ids_are_found_among_new_ones(tmp_path: Path) -> None:
    old = [RunDirectory.create(tmp_path, CONFIG, id=name) for name in ("3l8pk2v5h", "3l8pvr74k", "job17")]
    new = RunDirectory.create(tmp_path, CONFIG)
    for run in (*old, new):
        assert find_run(tmp_path, run.id).id == run.id
    assert find_run(tmp_path, "3l8pv").id == "3l8pvr74k"
    assert [run.id for run in list_runs(tmp_path)] == [new.id, "job17", "3l8pvr74k", "3l8pk2v5h"]


def test_runs_are_listed_in_the_order_of_their_creation(tmp_path: Path) -> None:
    with create_runs(tmp_path, [CONFIG] * 30) as created:
        ids = [run.id for run in created]
    earlier = RunDirectory.create(tmp_path, CONFIG, now=datetime(2021, 1, 1, tzinfo=UTC))
    newest_first = [*reversed(ids), earlier.id]
    assert list_run_ids(tmp_path) == newest_first
    for run in created:  # as in a copy without times, or an import
        os.utime(run.config, (0, 0))
    assert [run.id for run in list_runs(tmp_path)] == newest_first
    earlier.annotations.unlink()
    created[3].annotations.write_bytes(b"damaged\n")
    assert {run.id for run in list_runs(tmp_path)} == set(newest_first)


@pytest.mark.parametrize(
    "wrong", ["", "..", "a/b", "../x", "ABC", "a b", "abc\n", "stage1", "a" * 33, "ab", "äbc", ".trash", "٣٣٣"]
)
def test_invalid_ids_are_refused(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(InputError, match="run id"):
        RunDirectory(tmp_path, wrong)


def test_created_run_has_its_whole_settings(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path / "deep" / "runs", CONFIG)
    assert (run.read_config(), run.checkpoint_previous.name) == (CONFIG, PREVIOUS)
    assert sorted(path.name for path in run.path.iterdir()) == ["annotations.jsonl", "config.toml"]


def test_symlinked_directory_is_refused_and_not_listed(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    kept = RunDirectory.create(tmp_path / "elsewhere", CONFIG)
    runs.mkdir()
    (runs / "abc").symlink_to(kept.path)
    assert list_runs(runs) == []
    with pytest.raises(InputError, match="symbolic link"):
        RunDirectory(runs, "abc")


def test_find_run_by_prefix(tmp_path: Path) -> None:
    for name in ("aaa1", "aaa12", "bbb1"):
        RunDirectory.create(tmp_path, CONFIG, id=name)
    (tmp_path / "stage1").mkdir()
    (tmp_path / "ccc").mkdir()  # being made: no settings yet
    assert [run.id for run in list_runs(tmp_path)] == ["bbb1", "aaa12", "aaa1"]
    assert find_run(tmp_path, "b").id == "bbb1"
    assert find_run(tmp_path, "aaa1").id == "aaa1"
    with pytest.raises(InputError, match="2 runs: aaa12, aaa1"):
        find_run(tmp_path, "aa")
    for missing in ("zz", "", "../aaa1", "ccc"):
        with pytest.raises(InputError, match="no run in"):
            find_run(tmp_path, missing)
    for number in range(7):
        RunDirectory.create(tmp_path, CONFIG, id=f"many{number}")
    with pytest.raises(InputError, match=r"prefix of 7 runs: .* and 2 more"):
        find_run(tmp_path, "many")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'name = "' + b"x" * (10 << 20) + b'"', "expected at most 1 MB"),
        (b"= 3", "config.toml"),
        (b"\xff\xfe", "config.toml"),
        (b"epochs = 'ten'", "epochs: expected an integer"),
        (b"nonsense = 1", "nonsense"),
    ],
)
def test_wrong_settings_are_an_input_error(tmp_path: Path, content: bytes, message: str) -> None:
    run = RunDirectory.create(tmp_path, CONFIG)
    run.config.write_bytes(content)
    with pytest.raises(InputError, match=message):
        run.read_config()


def test_checkpoints_and_models_are_counted_apart(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    before = disk_use(run.path)
    run.checkpoint.write_bytes(bytes(3 << 20))
    run.checkpoint_previous.write_bytes(bytes(1 << 20))
    run.model.write_bytes(bytes(1 << 20))
    (run.path / "outside").symlink_to("/bin")
    use = disk_use(run.path)
    assert (use.checkpoints, use.models, use.total - before.total) == (4 << 20, 1 << 20, 5 << 20)
    text = "5 MiB (checkpoints 4 MiB, model 1 MiB)"
    assert str(use) == text
    assert text in invoke(tmp_path, "show", run.id).stdout
    make_run(tmp_path).checkpoint.write_bytes(bytes(4 << 20))
    assert check_runs_size(tmp_path).message == "2 runs: 9 MiB (checkpoints 8 MiB, model 1 MiB)"
    assert (str(DiskUse(1 << 20)), disk_use(tmp_path / "none")) == ("1 MiB", DiskUse())


@pytest.mark.parametrize("state", RunState)
def test_every_state_is_pending_resumable_or_finished(state: RunState) -> None:
    assert [state.is_pending, state.is_resumable, state is RunState.FINISHED].count(True) == 1
    assert state.is_started >= state.is_live
    assert state.is_pending >= state.is_started


def test_final_events_are_those_of_the_journal() -> None:
    assert {event.__struct_config__.tag for event in (Failed, Finished, Stopped)} == FINAL_EVENTS
    assert f"{RunState('running')}" == "running"
