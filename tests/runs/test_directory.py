"""A run's directory: ids, settings, lists of runs, their size and their states."""

import itertools
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
from core.resolve import resolve
from tests.support.cli import invoke
from tests.support.histories import make_run

CONFIG = resolve(preset="smoke")
MOMENTS = st.datetimes(datetime(2020, 1, 2), datetime(2087, 1, 1), timezones=st.just(UTC))


@given(MOMENTS, MOMENTS, st.binary(min_size=4, max_size=4), st.binary(min_size=4, max_size=4))
def test_ids_sort_by_time(one: datetime, other: datetime, random: bytes, other_random: bytes) -> None:
    ids = new_id(one, lambda count: random), new_id(other, lambda count: other_random)
    assert all(ID.fullmatch(made) and len(made) == 9 for made in ids)
    if abs(one - other) >= timedelta(seconds=1):
        assert (ids[0] < ids[1]) == (one < other)


def test_clock_before_the_epoch_still_gives_an_id() -> None:
    assert is_valid_id(new_id(datetime(1970, 1, 1, tzinfo=UTC)))


@pytest.mark.parametrize(
    "wrong", ["", "..", "a/b", "../x", "ABC", "a b", "abc\n", "stage1", "a" * 33, "ab", "äbc", ".trash", "٣٣٣"]
)
def test_invalid_ids_are_refused(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(InputError, match="run id"):
        RunDirectory(tmp_path, wrong)


def test_created_run_has_its_whole_settings(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path / "deep" / "runs", CONFIG)
    assert run.read_config() == CONFIG
    assert sorted(path.name for path in run.path.iterdir()) == ["annotations.jsonl", "config.toml"]


def test_same_id_twice_is_refused_and_same_second_is_not(tmp_path: Path) -> None:
    chances = itertools.chain([b"\0\0\0\1"] * 2, [b"\0\0\0\2"])
    now = datetime(2026, 1, 1, tzinfo=UTC)
    made = [RunDirectory.create(tmp_path, CONFIG, now=now, random=lambda count: next(chances)) for _ in range(2)]
    assert made[0].id != made[1].id
    with pytest.raises(InputError, match="already exists"):
        RunDirectory.create(tmp_path, CONFIG, id=made[0].id)


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


def test_long_list_of_matches_is_shortened(tmp_path: Path) -> None:
    for number in range(7):
        RunDirectory.create(tmp_path, CONFIG, id=f"abc{number}")
    with pytest.raises(InputError, match=r"prefix of 7 runs: .* and 2 more"):
        find_run(tmp_path, "abc")


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
    run.checkpoint.write_bytes(bytes(3000))
    run.checkpoint_previous.write_bytes(bytes(2000))
    run.model.write_bytes(bytes(1000))
    (run.path / "outside").symlink_to("/bin")
    use = disk_use(run.path)
    assert (use.checkpoints, use.models) == (5000, 1000)
    assert use.total == before.total + 6000


def test_text_names_what_takes_the_space() -> None:
    assert str(DiskUse(30 << 20, 20 << 20, 2 << 20)) == "30 MiB (checkpoints 20 MiB, model 2 MiB)"
    assert str(DiskUse(1 << 20)) == "1 MiB"


def test_missing_directory_takes_no_space(tmp_path: Path) -> None:
    assert disk_use(tmp_path / "none") == DiskUse()


def test_doctor_adds_all_runs(tmp_path: Path) -> None:
    for _ in range(2):
        make_run(tmp_path).checkpoint.write_bytes(bytes(4 << 20))
    check = check_runs_size(tmp_path)
    assert (check.verdict, check.message) == ("good", "2 runs: 8 MiB (checkpoints 8 MiB)")


def test_show_has_the_space_of_a_run(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    run.checkpoint.write_bytes(bytes(4 << 20))
    run.model.write_bytes(bytes(1 << 20))
    done = invoke(tmp_path, "show", run.id)
    assert "5 MiB (checkpoints 4 MiB, model 1 MiB)" in done.stdout, done.output


@pytest.mark.parametrize("state", RunState)
def test_every_state_is_pending_resumable_or_finished(state: RunState) -> None:
    assert [state.is_pending, state.is_resumable, state is RunState.FINISHED].count(True) == 1
    assert state.is_started >= state.is_live
    assert state.is_pending >= state.is_started


def test_final_events_are_those_of_the_journal() -> None:
    assert {event.__struct_config__.tag for event in (Failed, Finished, Stopped)} == FINAL_EVENTS


def test_stored_values_read_as_plain_text() -> None:
    assert f"{RunState('running')}" == "running"
    assert RunState.RUNNING in {"running"}
