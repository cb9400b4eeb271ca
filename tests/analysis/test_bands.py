"""Bands over seeds, against scipy.stats and computed by hand."""

import numpy as np
import pytest
from scipy import stats

from clarinet_tui.analysis.bands import Bands, make_bands

NAN = np.nan


def test_three_seeds_at_shared_epochs() -> None:
    epochs = np.array([1.0, 2.0, 3.0])
    values = [[10.0, 20.0, 30.0], [14.0, 26.0, 30.0], [12.0, 20.0, 30.0]]
    bands = make_bands([(epochs, np.array(curve)) for curve in values])
    assert bands.x.tolist() == [1, 2, 3]
    assert bands.n.tolist() == [3, 3, 3]
    assert bands.mean.tolist() == [12, 22, 30]
    assert (bands.std_high - bands.mean).tolist() == pytest.approx([2, np.sqrt(12), 0])
    assert bands.minimum.tolist() == [10, 20, 30]
    assert bands.maximum.tolist() == [14, 26, 30]
    ends = stats.ttest_1samp([20.0, 26.0, 20.0], 0.0).confidence_interval(0.95)
    assert (bands.t_low[1], bands.t_high[1]) == pytest.approx((ends.low, ends.high))


def test_shorter_runs_and_gaps_count_only_where_they_have_values() -> None:
    bands = make_bands(
        [(np.array([1.0, 2.0, 3.0]), np.array([10.0, NAN, 30.0])), (np.array([1.0, 2.0]), np.array([12.0, 22.0]))]
    )
    assert bands.n.tolist() == [2, 1, 1]
    assert bands.mean.tolist() == [11, 22, 30]
    assert np.isnan(bands.std_low[1:]).all()
    assert bands.minimum.tolist() == [10, 22, 30]


def test_interpolation_stays_within_each_run() -> None:
    bands = make_bands(
        [(np.array([0.0, 10.0]), np.array([0.0, 100.0])), (np.array([5.0, 15.0]), np.array([60.0, 60.0]))], points=4
    )
    assert bands.x.tolist() == [0, 5, 10, 15]
    assert bands.n.tolist() == [1, 2, 2, 1]
    assert bands.mean.tolist() == [0, 55, 80, 60]


def test_interpolation_does_not_cross_gaps() -> None:
    bands = make_bands([(np.array([0.0, 1.0, 2.0, 3.0]), np.array([5.0, NAN, 7.0, 7.0]))], points=7)
    assert np.isnan(bands.mean[1:4]).all()
    assert bands.mean[-1] == 7


@pytest.mark.parametrize("points", [None, 5])
def test_no_curves_give_empty_bands(points: int | None) -> None:
    def empty(bands: Bands) -> bool:
        return not np.isfinite(bands.mean).any()

    assert empty(make_bands([], points=points))
    assert empty(make_bands([(np.empty(0), np.empty(0))], points=points))
    assert empty(make_bands([(np.array([1.0, 2.0]), np.array([NAN, NAN]))], points=points))
    assert empty(make_bands([(np.array([NAN]), np.array([3.0]))], points=points))
