"""Variants: which runs may be averaged, and the names that tell them apart."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clarinet_tui.history.queries import RunRow, list_runs
from clarinet_tui.history.variants import (
    OWN_SEED,
    comparable_settings,
    describe_difference,
    group_all,
    group_runs,
    name_variants,
    read_variants,
)
from clarinet_tui.runs.environment import describe_environment
from clarinet_tui.runs.state import RunState
from core.config import flatten_settings
from core.resolve import resolve
from tests.support.histories import make_run
from tests.support.trained_runs import make_seeds, make_trained_run, read_runs


def read_rows(runs_dir: Path) -> list[RunRow]:
    return list_runs(read_runs(runs_dir).db)


def ids(runs_dir: Path, *, by_commit: bool = False) -> list[set[str]]:
    return [set(variant.ids) for variant in group_runs(read_rows(runs_dir), by_commit=by_commit)]


def comparable(**settings: Any) -> dict[str, Any]:
    return comparable_settings(flatten_settings(msgspec.to_builtins(resolve(**settings))))


def test_seeds_threads_and_devices_do_not_separate_runs(tmp_path: Path) -> None:
    make_trained_run(tmp_path, "aaa", [70.0], seed=1, threads=1)
    make_trained_run(tmp_path, "bbb", [71.0], seed=2, threads=8, device="cpu", name="mine", checkpoint_minutes=1.0)
    assert ids(tmp_path) == [{"aaa", "bbb"}]


def test_different_settings_separate_runs_and_the_fullest_group_is_first(tmp_path: Path) -> None:
    make_seeds(tmp_path, "run", (70.0, 71.0))
    make_trained_run(tmp_path, "ccc", [90.0], seed=3, epochs=7)
    first, second = group_runs(read_rows(tmp_path))
    assert set(first.ids) == {"run1", "run2"}
    assert describe_difference(first, second) == "epochs is 7, not 3"
    make_trained_run(tmp_path, "ddd", [90.0], seed=4, epochs=7)
    assert ids(tmp_path) == [{"ccc", "ddd"}, {"run1", "run2"}], "of equal groups the newest is first"


def test_settings_of_missing_stages_do_not_separate_runs() -> None:
    one = comparable(method="clarinet", preset="smoke", stage1={"epochs": 1})
    assert one == comparable(method="clarinet", preset="smoke", seed=2)
    two = comparable(method="gac+dan", preset="smoke", stage1={"epochs": 1})
    assert two != comparable(method="gac+dan", preset="smoke")
    assert two["stage1.seed"] == OWN_SEED
    gac = comparable(method="gac", preset="smoke", epochs=7, classifier_rate=0.1)
    assert gac == comparable(method="gac", preset="smoke", seed=2)
    assert gac != comparable(method="gac", preset="smoke", stage1={"rate": 0.1})


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
    first, *others = group_runs(read_rows(tmp_path))
    assert set(first.ids) == {"run1", "run2"}
    assert {describe_difference(first, other) for other in others} == {
        "different data: 100 source, 100 target, 50 test images; SYN-DIGITS is made here",
        "different data: 50 source, 100 target, 50 test images",
    }


def test_versions_separate_runs_and_commits_only_on_request(tmp_path: Path) -> None:
    make_trained_run(tmp_path, "aaa", [70.0], seed=1, commit="a" * 40)
    make_trained_run(tmp_path, "bbb", [70.0], seed=2, commit="b" * 40)
    make_trained_run(tmp_path, "ccc", [70.0], seed=3, version="9.0")
    assert ids(tmp_path) == [{"aaa", "bbb"}, {"ccc"}]
    assert ids(tmp_path, by_commit=True) == [{"ccc"}, {"bbb"}, {"aaa"}]
    first, second = group_runs(read_rows(tmp_path))
    assert describe_difference(first, second) == "version 9.0, not 0.1.0"
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
    run.config.write_text("from_the_future = 1\n")
    first, second = group_runs(read_rows(tmp_path))
    assert set(first.ids) == {"aaa", "ccc"}
    assert describe_difference(first, second) == "settings cannot be read"


def test_uncommitted_changes_have_different_hashes() -> None:
    def commit(**git: object) -> str:
        return describe_environment({"git": {"commit": "abcdef0123", **git}}).short_commit

    assert commit(patch="") == "abcdef0"
    assert len({commit(patch="+1"), commit(patch="+2"), commit(patch="")}) == 3
    assert describe_environment({"git": {"patch": "+1"}, "versions": 3, "command": "x"}).short_commit == ""


def test_names_have_the_settings_that_differ(tmp_path: Path) -> None:
    for rate in (0.003, 0.03):
        make_seeds(tmp_path, f"rate{rate * 1000:.0f}x", (70.0, 71.0), classifier_rate=rate)
    make_trained_run(tmp_path, "gac", [50.0], method="gac")
    variants = read_variants(read_runs(tmp_path).db)
    assert sorted(name_variants(variants)) == ["clarinet classifier_rate=0.003", "clarinet classifier_rate=0.03", "gac"]
    make_trained_run(tmp_path, "quick", [80.0], preset="quick")
    make_trained_run(tmp_path, "old", [80.0], preset="quick", version="9.0")
    variants = read_variants(read_runs(tmp_path).db)
    names = dict(zip((variant.ids[0] for variant in variants), name_variants(variants), strict=True))
    assert names["rate30x2"] == "clarinet smoke classifier_rate=0.03"
    assert names["quick"] == "clarinet quick (version 0.1.0)"
    assert names["old"] == "clarinet quick (version 9.0)"
    assert names["gac"] == "gac"


@pytest.fixture(scope="module")
def finished_row(tmp_path_factory: pytest.TempPathFactory) -> RunRow:
    runs_dir = tmp_path_factory.mktemp("runs")
    make_trained_run(runs_dir, "aaa", [70.0])
    return read_rows(runs_dir)[0]


RUNS = st.fixed_dictionaries(
    {
        "method": st.sampled_from(["clarinet", "basset", "gac", "gac+dan"]),
        "preset": st.sampled_from(["smoke", "quick"]),
        "seed": st.integers(1, 3),
        "classifier_rate": st.sampled_from([0.003, 0.03]),
        "stage1.epochs": st.sampled_from([3, 4]),
        "stage1.seed": st.sampled_from([None, 1]),
        "threads": st.sampled_from([1, 2]),
        "source_images": st.sampled_from([100, 200]),
        "version": st.sampled_from(["0.1.0", "0.2.0"]),
        "is_started": st.booleans(),
    }
)


@given(st.lists(RUNS, max_size=12))
def test_a_mean_never_mixes_two_variants(finished_row: RunRow, runs: list[dict[str, Any]]) -> None:
    """Over random runs: each is in a variant, the members of one agree in all that counts, and names differ."""
    rows = []
    for number, run in enumerate(runs):
        identity = {name: run[name] for name in ("method", "preset", "seed")}
        settings = (
            {**finished_row.settings} | identity | {name: run[name] for name in run if name in finished_row.settings}
        )
        settings["stage1.seed"] = run["stage1.seed"] or run["seed"]
        if run["is_started"]:
            state: dict[str, Any] = {"source_images": run["source_images"], "version": run["version"]}
        else:
            state = {"state": RunState.QUEUED, "started": None, "target_accuracy": None}
        rows.append(replace(finished_row, id=f"run{number}", settings=settings, **identity, **state))
    variants = group_all(rows)
    assert {row.id for variant in variants for row in variant.rows} == {row.id for row in rows}
    for variant in variants:
        seeds = {row.seed for row in variant.rows if row.started is not None}
        assert len(variant.accuracies) == len(seeds), "one result for each seed"
        counted = [row for row in variant.rows if row.started is not None]
        assert len({(row.method, row.task, row.preset, row.source_images, row.version) for row in counted}) <= 1
        for row in counted:
            settings = comparable_settings(row.settings)
            if row.seed == (variant.settings or {}).get("stage1.seed"):
                settings["stage1.seed"] = row.seed  # its own seed is the shared one
            assert settings == variant.settings
    for task in {row.task for row in rows}:
        names = [name for name, variant in zip(name_variants(variants), variants, strict=True) if variant.task == task]
        assert len(set(names)) == len(names)
