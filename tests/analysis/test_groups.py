"""Groups of runs that may be averaged."""

from pathlib import Path

from clarinet_tui.analysis.run_records import OWN_SEED, comparable_settings, describe_group_difference, group_runs
from clarinet_tui.runs.environment import describe_environment
from core.resolve import resolve
from tests.support.histories import make_run
from tests.support.trained_runs import make_seeds, make_trained_run, read_runs


def ids(runs_dir: Path, *, by_commit: bool = False) -> list[set[str]]:
    records = read_runs(runs_dir).search()
    return [set(group.ids) for group in group_runs(records, by_commit=by_commit)]


def test_seeds_threads_and_devices_do_not_separate_runs(tmp_path: Path) -> None:
    make_trained_run(tmp_path, "aaa", [70.0], seed=1, threads=1)
    make_trained_run(tmp_path, "bbb", [71.0], seed=2, threads=8, device="cpu", name="mine", checkpoint_minutes=1.0)
    assert ids(tmp_path) == [{"aaa", "bbb"}]


def test_different_settings_separate_runs_and_the_fullest_group_is_first(tmp_path: Path) -> None:
    make_seeds(tmp_path, "run", (70.0, 71.0))
    make_trained_run(tmp_path, "ccc", [90.0], seed=3, epochs=7)
    first, second = group_runs(read_runs(tmp_path).search())
    assert set(first.ids) == {"run1", "run2"}
    assert describe_group_difference(first, second) == "epochs is 7, not 3"
    make_trained_run(tmp_path, "ddd", [90.0], seed=4, epochs=7)
    assert ids(tmp_path) == [{"ccc", "ddd"}, {"run1", "run2"}], "of equal groups the newest is first"


def test_settings_of_missing_stages_do_not_separate_runs() -> None:
    one = resolve(method="clarinet", preset="smoke", stage1={"epochs": 1})
    assert comparable_settings(one) == comparable_settings(resolve(method="clarinet", preset="smoke", seed=2))
    two = resolve(method="gac+dan", preset="smoke", stage1={"epochs": 1})
    assert comparable_settings(two) != comparable_settings(resolve(method="gac+dan", preset="smoke"))
    assert comparable_settings(two)["stage1.seed"] == OWN_SEED
    gac = resolve(method="gac", preset="smoke", epochs=7, classifier_rate=0.1)
    assert comparable_settings(gac) == comparable_settings(resolve(method="gac", preset="smoke", seed=2))
    assert comparable_settings(gac) != comparable_settings(resolve(method="gac", preset="smoke", stage1={"rate": 0.1}))


def test_stage_1_shared_by_all_seeds_is_another_protocol(tmp_path: Path) -> None:
    """The run whose seed equals the shared one belongs to both groups, so that neither lacks a seed."""
    make_seeds(tmp_path, "own", (70.0, 70.0, 70.0), method="gac+dan")
    for seed in (2, 3, 4):
        make_trained_run(tmp_path, f"one{seed}", [71.0], method="gac+dan", seed=seed, stage1={"seed": 1})
    assert ids(tmp_path) == [{"own1", "one2", "one3", "one4"}, {"own1", "own2", "own3"}]
    make_seeds(tmp_path / "shared", "one", (70.0, 70.0), method="gac+dan", stage1={"seed": 1})
    assert ids(tmp_path / "shared") == [{"one1", "one2"}]


def test_synthetic_data_and_other_sizes_separate_runs(tmp_path: Path) -> None:
    make_seeds(tmp_path, "run", (70.0, 70.0))
    make_trained_run(tmp_path, "ccc", [80.0], seed=3, start={"notes": ["SYN-DIGITS is made here"]})
    make_trained_run(tmp_path, "ddd", [80.0], seed=4, start={"source_size": 50})
    first, *others = group_runs(read_runs(tmp_path).search())
    assert set(first.ids) == {"run1", "run2"}
    assert {describe_group_difference(first, other) for other in others} == {
        "different data: 100 source, 100 target, 50 test images; SYN-DIGITS is made here",
        "different data: 50 source, 100 target, 50 test images",
    }


def test_versions_separate_runs_and_commits_only_on_request(tmp_path: Path) -> None:
    make_trained_run(tmp_path, "aaa", [70.0], seed=1, commit="a" * 40)
    make_trained_run(tmp_path, "bbb", [70.0], seed=2, commit="b" * 40)
    make_trained_run(tmp_path, "ccc", [70.0], seed=3, version="9.0")
    assert ids(tmp_path) == [{"aaa", "bbb"}, {"ccc"}]
    assert ids(tmp_path, by_commit=True) == [{"ccc"}, {"bbb"}, {"aaa"}]
    first, second = group_runs(read_runs(tmp_path).search())
    assert describe_group_difference(first, second) == "version 9.0, not 0.1.0"
    assert first.commits == ("aaaaaaa", "bbbbbbb")


def test_queued_run_joins_the_group_of_its_settings(tmp_path: Path) -> None:
    make_trained_run(tmp_path, "aaa", [70.0], seed=1)
    make_run(tmp_path, "bbb", seed=2)
    make_run(tmp_path, "ccc", seed=3, epochs=9)
    assert ids(tmp_path) == [{"aaa", "bbb"}, {"ccc"}]


def test_unreadable_settings_form_their_own_group(tmp_path: Path) -> None:
    make_trained_run(tmp_path, "aaa", [70.0], seed=1)
    run = make_trained_run(tmp_path, "bbb", [70.0], seed=2)
    make_trained_run(tmp_path, "ccc", [70.0], seed=3)
    records = read_runs(tmp_path)
    run.config.write_text("from_the_future = 1\n")
    first, second = group_runs(records.search())
    assert set(first.ids) == {"aaa", "ccc"}
    assert describe_group_difference(first, second) == "settings cannot be read"


def test_uncommitted_changes_have_different_hashes() -> None:
    def commit(**git: object) -> str:
        return describe_environment({"git": {"commit": "abcdef0123", **git}}).short_commit

    assert commit(patch="") == "abcdef0"
    assert len({commit(patch="+1"), commit(patch="+2"), commit(patch="")}) == 3
    assert describe_environment({"git": {"patch": "+1"}, "versions": 3, "command": "x"}).short_commit == ""
