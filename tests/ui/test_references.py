"""What stands behind the live accuracy: the paper's number, and other seeds that may stand in one mean with the run."""

from pathlib import Path

import numpy as np
import pytest

from clarinet_tui.chart.references import Band, ReferenceLine
from clarinet_tui.chart.series import Line
from clarinet_tui.history.database import Database
from clarinet_tui.history.ingest import ingest_all
from clarinet_tui.ui.app import ClarinetApp
from clarinet_tui.ui.feed.history_reader import HistoryReader
from clarinet_tui.ui.feed.reference_reader import ReferenceReader
from clarinet_tui.ui.preferences import read_preferences
from clarinet_tui.ui.snapshot.references import ReferenceRequest, References
from clarinet_tui.ui.snapshot.snapshot import CurvesRequest, ViewRequest
from clarinet_tui.ui.widgets.run_charts import RunCharts
from tests.support.app import make_app, screen_text, toast_texts, wait_until
from tests.support.ui_runs import write_reference_runs, write_run


def ghost_of(runs_dir: Path, run: str, *, seeds: bool = True) -> References:
    with Database.open(runs_dir) as db:
        ingest_all(db, runs_dir)
        reader, wanted = ReferenceReader(runs_dir), ReferenceRequest(run, seeds)
        assert reader.read(db, wanted) is None
        assert reader.pending
        ghost = reader.read(db, wanted)
        assert ghost is not None
        assert not reader.pending
        assert reader.read(db, wanted) is ghost
    return ghost


def test_other_seeds_of_the_same_protocol_make_the_band_and_others_are_named(runs_dir: Path) -> None:
    write_reference_runs(runs_dir)
    ghost = ghost_of(runs_dir, "run5")
    assert ghost.published is not None
    assert ghost.published.mean == pytest.approx(94.538)
    assert ghost.seeds is not None
    assert ghost.seeds.seeds == (1, 2, 3)
    np.testing.assert_allclose(ghost.seeds.high - ghost.seeds.low, 12.0)
    np.testing.assert_allclose((ghost.seeds.high + ghost.seeds.low)[-1] / 2, 80 - 60 * np.exp(-4))
    assert [one.runs for one in ghost.left_out] == [("run4",)]
    told = ghost.describe("both")
    assert "Published 94.5 ± 0.3" in told
    assert "seeds 1, 2, 3, as mean ± std" in told
    assert "excluded: 1 run (classifier_rate is 0.1" in told
    assert ghost.describe("none") == "None."


def test_one_other_seed_is_a_line_and_none_is_said(runs_dir: Path) -> None:
    write_reference_runs(runs_dir)
    ghost = ghost_of(runs_dir, "run4")
    assert ghost.seeds is None
    assert "No other seed has finished" in ghost.describe("seeds")
    write_run(runs_dir, "again", seed=9, task="M->U", classifier_rate=0.1, age=10)
    ghost = ghost_of(runs_dir, "run4")
    assert ghost.seeds is not None
    assert ghost.seeds.name == "seed 9"


def test_of_a_seed_that_was_run_twice_only_the_newest_counts(runs_dir: Path) -> None:
    write_reference_runs(runs_dir)
    write_run(runs_dir, "newer", seed=3, gain=60.0, task="M->U", age=30)
    write_run(runs_dir, "mine", seed=5, gain=90.0, task="M->U", age=20)
    seeds = ghost_of(runs_dir, "run5").seeds
    assert seeds is not None
    assert seeds.seeds == (1, 2, 3)
    assert seeds.high[-1] > 110  # that of seed 5 itself would be more still


def test_the_paper_has_no_number_of_other_tasks_and_nothing_is_read_for_it_alone(runs_dir: Path) -> None:
    write_run(runs_dir, "aaa", seed=1)
    write_run(runs_dir, "bbb", seed=2)
    ghost = ghost_of(runs_dir, "aaa", seeds=False)
    assert ghost.published is None
    assert ghost.seeds is None
    assert "no number" in ghost.describe("published")


def test_curves_come_before_ghosts_and_another_finished_seed_is_seen(runs_dir: Path) -> None:
    write_reference_runs(runs_dir)
    reader = HistoryReader(runs_dir)
    wanted = ViewRequest(curves=(CurvesRequest("run5", ("target_accuracy",)),), references=ReferenceRequest("run5"))
    with Database.open(runs_dir) as db:
        ingest_all(db, runs_dir)
        first, second, third = (reader.read(wanted) for _ in range(3))
        assert first is not None
        assert first.curves
        assert first.references is None
        assert second is not None
        assert second.references is not None
        assert third is None
        write_run(runs_dir, "run6", seed=6, task="M->U", age=10)
        ingest_all(db, runs_dir)
        fourth, fifth = reader.read(wanted), reader.read(wanted)
    assert fourth is not None
    assert fourth.references is second.references
    assert fifth is not None
    assert fifth.references is not None
    assert fifth.references.seeds is not None
    assert fifth.references.seeds.seeds == (1, 2, 3, 6)
    reader.close()


def behind(app: ClarinetApp) -> list[type]:
    return [type(thing) for thing in app.screen.query_one(RunCharts).accuracy.references]


async def test_a_key_chooses_what_is_behind_and_it_is_remembered(runs_dir: Path) -> None:
    write_reference_runs(runs_dir)
    app = make_app(runs_dir, "run5")
    async with app.run_test(size=(160, 48), notifications=True) as pilot:
        await wait_until(pilot, lambda: behind(app) == [ReferenceLine, Band], "both")
        await wait_until(pilot, lambda: "published 94.5" in screen_text(app), "the published number")
        await wait_until(pilot, lambda: "3 other seeds ± std" in screen_text(app), "the other seeds")
        for kind, things in (
            ("published", [ReferenceLine]),
            ("seeds", [Band]),
            ("none", []),
            ("both", [ReferenceLine, Band]),
        ):
            await pilot.press("b")
            await wait_until(pilot, lambda things=things: behind(app) == things, kind)  # type: ignore[misc]
            assert app.preferences.values.references == kind
        await wait_until(pilot, lambda: any("excluded" in text for text in toast_texts(app)), "the notice")
        await pilot.press("b")
    assert read_preferences(Path("config/clarinet/tui.json"))[0].references == "published"
    again = make_app(runs_dir, "run5")
    async with again.run_test(size=(160, 48)) as pilot:
        await wait_until(pilot, lambda: behind(again) == [ReferenceLine], "what was chosen the last time")


async def test_ghosts_follow_the_axis_and_the_run(runs_dir: Path) -> None:
    write_reference_runs(runs_dir)
    app = make_app(runs_dir, "run5")
    async with app.run_test(size=(120, 36)) as pilot:
        await wait_until(pilot, lambda: behind(app) == [ReferenceLine, Band], "both")
        await pilot.press("x")
        band = app.screen.query_one(RunCharts).accuracy.references[1]
        assert isinstance(band, Band)
        np.testing.assert_allclose(band.x, np.arange(1, 9))
        await pilot.press("j")
        await wait_until(
            pilot, lambda: app.state.live_run == "run4" and behind(app) == [ReferenceLine], "the other run's"
        )
        write_run(runs_dir, "again", seed=9, task="M->U", classifier_rate=0.1, age=10)
        await wait_until(pilot, lambda: behind(app) == [ReferenceLine, Line, Band], "the line of one seed")
        await wait_until(pilot, lambda: "seed 9" in screen_text(app), "its name")


async def test_runs_over_each_other_have_no_ghosts(runs_dir: Path) -> None:
    write_reference_runs(runs_dir)
    app = make_app(runs_dir, "run1", "run2")
    async with app.run_test(size=(120, 36)) as pilot:
        await wait_until(pilot, lambda: "■ run2" in screen_text(app))
        await pilot.press("b", "x")
        await wait_until(pilot, lambda: app.preferences.values.axis == "epoch", "the key after b")
        snapshot = app.state.snapshot
        await wait_until(pilot, lambda: app.state.snapshot is not snapshot, "another snapshot")
        assert not behind(app)
        assert app.preferences.values.references == "both"
