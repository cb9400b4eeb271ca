"""A run's directory: ids, settings, lists of runs, their size and their states."""

import itertools
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clarinet_tui.doctor.checks import check_runs_size
from clarinet_tui.runs.directory import ID, DiskUse, RunDirectory, disk_use, find_run, is_valid_id, list_runs, new_id
from clarinet_tui.runs.state import FINAL_EVENTS, RunState
from core.errors import InputError
from core.events import Failed, Finished, Stopped
from core.models.checkpoint import PREVIOUS
from core.resolve import resolve
from tests.support.cli import invoke
from tests.support.histories import make_run

CONFIG = resolve(preset="smoke")
MOMENTS = st.datetimes(datetime(2020, 1, 2), datetime(2087, 1, 1), timezones=st.just(UTC))


def test_ids_of_the_same_second_differ_and_a_clock_before_2020_gives_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert is_valid_id(new_id(datetime(1970, 1, 1, tzinfo=UTC)))
    chances = itertools.chain([1, 1], itertools.count(2))
    monkeypatch.setattr(os, "urandom", lambda count: next(chances).to_bytes(count, "big"))
    now = datetime(2026, 1, 1, tzinfo=UTC)
    made = [RunDirectory.create(tmp_path, CONFIG, now=now) for _ in range(2)]
    assert made[0].id != made[1].id
    with pytest.raises(InputError, match="already exists"):
        RunDirectory.create(tmp_path, CONFIG, id=made[0].id)


@given(MOMENTS, MOMENTS)
def test_ids_sort_by_time(one: datetime, other: datetime) -> None:
    ids = new_id(one), new_id(other)
    assert all(ID.fullmatch(made) and len(made) == 9 for made in ids)
    if abs(one - other) >= timedelta(seconds=1):
        assert (ids[0] < ids[1]) == (one < other)


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
