"""Curves of a side along every axis, from real journals, and bands over seeds against scipy.stats."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import ArrayLike
from scipy import stats

from clarinet_tui.analysis.comparison import make_sides
from clarinet_tui.analysis.run_records import RunRecords
from clarinet_tui.analysis.seed_curves import SeedBand, average_runs, make_seed_band, read_run_evaluations, run_curve
from clarinet_tui.chart.curve import Curve
from clarinet_tui.history.axes import Axis
from tests.support.trained_runs import make_trained_run, read_runs
from tests.support.ui_runs import FAMILY_STEPS, write_family_run

NAN = np.nan


def band_of(*curves: tuple[ArrayLike, ArrayLike], points: int | None = None) -> SeedBand:
    return make_seed_band([Curve.through(x, y) for x, y in curves], points=points)


def test_three_seeds_at_shared_epochs() -> None:
    band = band_of(*(([1, 2, 3], values) for values in ([10, 20, 30], [14, 26, 30], [12, 20, 30])))
    assert band.x.tolist() == [1, 2, 3]
    assert band.n.tolist() == [3, 3, 3]
    assert band.mean.tolist() == [12, 22, 30]
    assert (band.edges["std"][1] - band.mean).tolist() == pytest.approx([2, np.sqrt(12), 0])
    assert [edge.tolist() for edge in band.edges["range"]] == [[10, 20, 30], [14, 26, 30]]
    ends = stats.ttest_1samp([20.0, 26.0, 20.0], 0.0).confidence_interval(0.95)
    assert [edge[1] for edge in band.edges["interval"]] == pytest.approx([ends.low, ends.high])


def test_shorter_runs_and_gaps_count_only_where_they_have_values() -> None:
    band = band_of(([1, 2, 3], [10, NAN, 30]), ([1, 2], [12, 22]))
    assert band.n.tolist() == [2, 1, 1]
    assert band.mean.tolist() == [11, 22, 30]
    assert np.isnan(band.edges["std"][0][1:]).all()
    assert band.edges["range"][0].tolist() == [10, 22, 30]


def test_interpolation_stays_within_each_run_and_does_not_cross_gaps() -> None:
    band = band_of(([0, 10], [0, 100]), ([5, 15], [60, 60]), points=4)
    assert band.x.tolist() == [0, 5, 10, 15]
    assert band.n.tolist() == [1, 2, 2, 1]
    assert band.mean.tolist() == [0, 55, 80, 60]
    gap = band_of(([0, 1, 2, 3], [5, NAN, 7, 7]), points=7)
    assert np.isnan(gap.mean[1:4]).all()
    assert gap.mean[-1] == 7


@pytest.mark.parametrize("points", [None, 5])
@pytest.mark.parametrize("curves", [[], [([], [])], [([1, 2], [NAN, NAN])], [([NAN], [3])]])
def test_no_values_give_an_empty_band(curves: list[tuple[ArrayLike, ArrayLike]], points: int | None) -> None:
    assert not np.isfinite(band_of(*curves, points=points).mean).any()


def read_curve(records: RunRecords, run: str, metric: str, axis: Axis) -> Curve:
    (record,) = records.search(f"id:{run}")
    return run_curve(records.db, run, read_run_evaluations(records.db, record), metric, axis, 100)


def test_accuracies_are_of_the_last_stage(tmp_path: Path) -> None:
    write_family_run(tmp_path, "dann1", "gac+dann", 1)
    records = read_runs(tmp_path)
    epochs = np.arange(7, 19)
    expected: dict[Axis, object] = {"epoch": epochs, "adaptation-epoch": epochs - 6, "iteration": epochs * FAMILY_STEPS}
    for axis, x in expected.items():
        np.testing.assert_array_equal(read_curve(records, "dann1", "target_accuracy", axis).x, x)


def test_losses_are_placed_by_iteration(tmp_path: Path) -> None:
    write_family_run(tmp_path, "clar1", "clarinet", 1)
    records = read_runs(tmp_path)
    iterations = read_curve(records, "clar1", "complementary_loss", "iteration").x
    shares: dict[Axis, float] = {"epoch": 1 / FAMILY_STEPS, "time": 0.1}
    for axis, share in shares.items():
        np.testing.assert_allclose(read_curve(records, "clar1", "complementary_loss", axis).x, iterations * share)


def test_a_curve_starts_after_the_cost_of_a_shared_stage_1(tmp_path: Path) -> None:
    make_trained_run(tmp_path, "dann1", [80.0], method="gac+dann", shared=("abc123", 60.0))
    assert read_curve(read_runs(tmp_path), "dann1", "target_accuracy", "time").x[0] > 60


def test_mean_averages_finished_runs_and_members_list_all(tmp_path: Path) -> None:
    for seed in (1, 2):
        write_family_run(tmp_path, f"clar{seed}", "clarinet", seed)
    write_family_run(tmp_path, "clar3", "clarinet", 3, until=4, end="running")
    records = read_runs(tmp_path)
    (side,) = make_sides(records.search())
    curves = {run: read_curve(records, run, "target_accuracy", "epoch") for run in ("clar1", "clar2", "clar3")}
    averaged = average_runs(side, curves, exact=True)
    assert averaged.n.tolist() == [2] * 12
    assert len(averaged.members) == 3
    np.testing.assert_allclose(averaged.mean, (curves["clar1"].mean + curves["clar2"].mean) / 2)
    (single,) = make_sides(records.search("seed:1"))
    alone = average_runs(single, {"clar1": curves["clar1"]}, exact=True)
    assert alone.members == ()
    np.testing.assert_allclose(alone.mean, curves["clar1"].mean)
    assert not read_curve(records, "clar1", "mmd", "epoch").x.size
