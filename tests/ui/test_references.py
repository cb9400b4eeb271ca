"""References behind the live accuracy: the published number, and other seeds of the same protocol."""

from pathlib import Path

import numpy as np
import pytest

from clarinet_tui.chart.curve import Curve
from clarinet_tui.history.ingest import ingest_all
from clarinet_tui.ui.app import ClarinetApp
from clarinet_tui.ui.feed.history_reader import HistoryReader, ReferenceReader
from clarinet_tui.ui.preferences import read_preferences
from clarinet_tui.ui.snapshot.references import ReferenceRequest, References
from clarinet_tui.ui.snapshot.snapshot import CurvesRequest, ViewRequest
from clarinet_tui.ui.widgets.run_charts import RunCharts
from tests.support.app import expect_text, open_app, toast_texts, wait_until
from tests.support.histories import ingested
from tests.support.known import known
from tests.support.ui_runs import write_reference_runs, write_run


def read_references(runs_dir: Path, run: str, *, seeds: bool = True) -> References:
    with ingested(runs_dir) as db:
        reader, request = ReferenceReader(runs_dir), ReferenceRequest(run, seeds)
        assert reader.read(db, request) is None
        assert reader.has_more
        references = known(reader.read(db, request))
        assert not reader.has_more
        assert reader.read(db, request) is references
    return references


def test_the_band_has_other_seeds_of_the_same_protocol(runs_dir: Path) -> None:
    write_reference_runs(runs_dir)
    references = read_references(runs_dir, "run5")
    assert known(references.published).mean == pytest.approx(94.538)
    assert references.seeds == (1, 2, 3)
    band = known(references.seed_curve)
    np.testing.assert_allclose(band.high - band.low, 12.0)
    np.testing.assert_allclose(band.mean[-1], 80 - 60 * np.exp(-4))
    assert [one.runs for one in references.excluded] == [("run4",)]
    description = references.describe("both")
    assert "Published 94.5 ± 0.3" in description
    assert "seeds 1, 2, 3, as mean ± std" in description
    assert "excluded: 1 run (classifier_rate is 0.1" in description
    assert references.describe("none") == "No references are shown."


def test_one_other_seed_is_a_line_and_none_is_described(runs_dir: Path) -> None:
    write_reference_runs(runs_dir)
    references = read_references(runs_dir, "run4")
    assert references.seed_curve is None
    assert "No other seed has finished" in references.describe("seeds")
    write_run(runs_dir, "again", seed=9, task="M->U", classifier_rate=0.1, age=10)
    references = read_references(runs_dir, "run4")
    assert known(references.seed_curve).name == "seed 9"


def test_only_the_newest_run_of_a_seed_counts(runs_dir: Path) -> None:
    write_reference_runs(runs_dir)
    write_run(runs_dir, "newer", seed=3, gain=60.0, task="M->U", age=30)
    write_run(runs_dir, "mine", seed=5, gain=90.0, task="M->U", age=20)
    references = read_references(runs_dir, "run5")
    assert references.seeds == (1, 2, 3)
    assert known(references.seed_curve).high[-1] > 110  # that of seed 5 itself would be more still


def test_other_tasks_have_no_published_number(runs_dir: Path) -> None:
    write_run(runs_dir, "aaa", seed=1)
    write_run(runs_dir, "bbb", seed=2)
    references = read_references(runs_dir, "aaa", seeds=False)
    assert references.published is None
    assert references.seed_curve is None
    assert "no number" in references.describe("published")


def test_curves_come_before_references_and_new_seeds_are_added(runs_dir: Path) -> None:
    write_reference_runs(runs_dir)
    reader = HistoryReader(runs_dir)
    request = ViewRequest(curves=(CurvesRequest("run5", ("target_accuracy",)),), references=ReferenceRequest("run5"))
    with ingested(runs_dir) as db:
        first, second = (known(reader.read(request)) for _ in range(2))
        assert first.curves
        assert first.references is None
        assert second.references is not None
        assert reader.read(request) is None
        write_run(runs_dir, "run6", seed=6, task="M->U", age=10)
        ingest_all(db, runs_dir)
        fourth, fifth = (known(reader.read(request)) for _ in range(2))
    assert fourth.references is second.references
    assert known(fifth.references).seeds == (1, 2, 3, 6)
    reader.close()


SEEDS = "3 other seeds ± std"


def shown_references(app: ClarinetApp) -> list[str]:
    """The label of a line, and the name of a curve."""
    references = app.screen.query_one(RunCharts).accuracy.references
    return [getattr(reference, "name", "published") for reference in references]


async def test_a_key_selects_the_references_and_saves_them(runs_dir: Path) -> None:
    write_reference_runs(runs_dir)
    async with open_app(runs_dir, "run5", notifications=True) as (app, pilot):
        await wait_until(pilot, lambda: shown_references(app) == ["published", SEEDS], "both")
        await expect_text(pilot, "published 94.5")
        await expect_text(pilot, "3 other seeds ± std")
        for kind, expected in (
            ("published", ["published"]),
            ("seeds", [SEEDS]),
            ("none", []),
            ("both", ["published", SEEDS]),
        ):
            await pilot.press("b")
            await wait_until(pilot, lambda expected=expected: shown_references(app) == expected, kind)  # type: ignore[misc]
            assert app.preferences.values.references == kind
        await wait_until(pilot, lambda: any("excluded" in text for text in toast_texts(app)), "the notice")
        await pilot.press("b")
    assert read_preferences(Path("config/clarinet/tui.json"))[0].references == "published"
    async with open_app(runs_dir, "run5") as (app, pilot):
        await wait_until(pilot, lambda: shown_references(app) == ["published"], "the saved references")


async def test_references_follow_the_axis_and_the_run(runs_dir: Path) -> None:
    write_reference_runs(runs_dir)
    async with open_app(runs_dir, "run5", size=(120, 36)) as (app, pilot):
        await wait_until(pilot, lambda: shown_references(app) == ["published", SEEDS], "both")
        await pilot.press("x")
        band = app.screen.query_one(RunCharts).accuracy.references[1]
        assert isinstance(band, Curve)
        assert band.filled
        np.testing.assert_allclose(band.x, np.arange(1, 9))
        await pilot.press("j")
        await wait_until(
            pilot, lambda: app.state.live_run == "run4" and shown_references(app) == ["published"], "the other run's"
        )
        write_run(runs_dir, "again", seed=9, task="M->U", classifier_rate=0.1, age=10)
        await wait_until(pilot, lambda: shown_references(app) == ["published", "seed 9"], "the line of one seed")
        await expect_text(pilot, "seed 9")


async def test_overlaid_runs_have_no_references(runs_dir: Path) -> None:
    write_reference_runs(runs_dir)
    async with open_app(runs_dir, "run1", "run2", text="■ run2", size=(120, 36)) as (app, pilot):
        await pilot.press("b", "x")
        await wait_until(pilot, lambda: app.preferences.values.axis == "epoch", "the key after b")
        write_run(runs_dir, "run9", seed=9, task="M->U", age=10)
        await wait_until(
            pilot, lambda: app.state.snapshot and app.state.snapshot.listing.all_runs == 6, "a new snapshot"
        )
        assert not shown_references(app)
        assert app.preferences.values.references == "both"
