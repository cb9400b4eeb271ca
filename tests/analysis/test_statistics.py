"""Statistics over seeds, against scipy.stats and computed by hand."""

import math
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from scipy import stats

from clarinet_tui.analysis.statistics import (
    MINIMUM_BOOTSTRAP_PAIRS,
    MINIMUM_PAIRS,
    RESAMPLES,
    RESAMPLING_SEED,
    Distance,
    Summary,
    bootstrap_interval,
    distance,
    holm_correction,
    paired_statistics,
    smallest_wilcoxon_p,
    summarise,
    t_interval,
    t_test,
    wilcoxon_test,
)
from tests.support.known import known

FIVE = [83.1, 84.9, 82.6, 83.3, 84.2]
OTHERS = [71.2, 73.9, 70.4, 71.9, 70.1]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], Summary(0)),
        ([80.5], Summary(1, 80.5)),
        ([80.0, 81.0], Summary(2, 80.5, math.sqrt(0.5))),
        ([2.0, 4.0, 9.0], Summary(3, 5.0, math.sqrt((9 + 1 + 16) / 2))),
        ([80.1] * 5, Summary(5, 80.1, 0.0)),
        ([80.5, None, math.nan, math.inf], Summary(1, 80.5, None, missing=3)),
        ([math.nan], Summary(0, missing=1)),
    ],
)
def test_summary_of_few_constant_and_missing_values(values: list[float | None], expected: Summary) -> None:
    assert summarise(values) == expected
    assert expected.error == (None if expected.std is None else pytest.approx(expected.std / math.sqrt(expected.n)))


@pytest.mark.parametrize("values", [FIVE, FIVE[:2], OTHERS + FIVE])
def test_t_interval_matches_scipy(values: list[float]) -> None:
    result = known(t_interval(values))
    expected = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
    assert (result.low, result.high) == pytest.approx((expected.low, expected.high), rel=1e-12)


def test_t_interval_of_few_and_of_equal_values() -> None:
    result = known(t_interval([1.0, 3.0]))
    assert result.high == pytest.approx(2 + 12.7062, abs=1e-3)
    assert t_interval([]) is None
    assert t_interval([1.0, None]) is None
    assert t_interval([3.0, 3.0]) is None, "values that do not vary say nothing of how others would"


def test_paired_test_matches_scipy() -> None:
    differences = [one - two for one, two in zip(FIVE, OTHERS, strict=True)]
    assert t_test(differences) == pytest.approx(stats.ttest_rel(FIVE, OTHERS).pvalue, rel=1e-9)


def test_no_test_below_five_pairs_and_for_equal_differences() -> None:
    """Equal differences have no defined t statistic."""
    assert t_test(FIVE[:4]) is None
    assert wilcoxon_test(FIVE[:4]) is None
    assert wilcoxon_test([*FIVE[:4], math.nan]) is None
    assert t_test([1.2] * 5) is None
    assert wilcoxon_test([1.2] * 5) is None
    assert t_test([71.3 - 70.1, 81.3 - 80.1, 61.3 - 60.1, 51.3 - 50.1, 1.2]) is None
    assert wilcoxon_test([0.0] * 5) is None


def test_no_bootstrap_below_twenty_pairs_and_for_equal_differences() -> None:
    twenty = [*FIVE, *OTHERS] * 2
    assert bootstrap_interval(twenty) is not None
    assert bootstrap_interval(twenty[:19]) is None
    assert bootstrap_interval([*twenty[:19], math.nan]) is None
    assert bootstrap_interval([1.2] * 20) is None


def test_wilcoxon_matches_scipy() -> None:
    rng = np.random.default_rng(1)
    for pairs in (5, 6, 10, 25, 50):
        for shift in (0.0, 0.5, 2.0):
            differences = rng.normal(shift, 1.0, pairs)
            expected = stats.wilcoxon(differences, method="exact").pvalue
            assert wilcoxon_test(differences.tolist()) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    "differences",
    [
        [1.0, 1.0, -1.0, 2.0, 3.0, -2.0, 2.0],
        [71.3 - 70.1, 80.1 - 81.3, 61.3 - 60.1, 51.3 - 50.1, 9.0, -0.3],
        [0.0, 0.0, 5.0, 4.0, 3.0, -1.0],
        [80.02 - 80.01, 70.01 - 70.0, 60.0 - 60.01, 50.02 - 50.01, 0.0],
    ],
    ids=["ties", "ties up to rounding", "zeros", "small"],
)
def test_wilcoxon_with_ties_counts_all_signs(differences: list[float]) -> None:
    ranks = stats.rankdata([round(abs(difference), 9) for difference in differences if difference != 0])
    total = ranks.sum()
    positive = sum(rank for rank, value in zip(ranks, filter(None, differences), strict=True) if value > 0)
    sums = [np.dot(ranks, signs) for signs in product((0, 1), repeat=len(ranks))]
    extreme = sum(abs(2 * one - total) >= abs(2 * positive - total) for one in sums)
    assert wilcoxon_test(differences) == pytest.approx(extreme / len(sums))


def test_smallest_p_of_the_rank_test() -> None:
    assert smallest_wilcoxon_p(FIVE) == wilcoxon_test(FIVE) == 0.0625
    assert smallest_wilcoxon_p([0.0, *FIVE[:4]]) == wilcoxon_test([0.0, *FIVE[:4]]) == 0.125
    assert smallest_wilcoxon_p([-1.0, 1.0, 2.0, 2.0, 2.0, 3.0]) == 0.03125


Draw = Callable[[np.random.Generator, int], list[float]]


def _normal(rng: np.random.Generator, pairs: int) -> list[float]:
    return list(rng.normal(size=pairs))


def _failures(rng: np.random.Generator, pairs: int) -> list[float]:
    """Differences of which a quarter is 25 points larger, because stage 1 failed."""
    return list(rng.normal(0.0, 3.0, pairs) + 25.0 * (rng.random(pairs) < 0.25))


@pytest.mark.parametrize(
    ("draw", "mean", "pairs", "student", "bca"),
    [
        (_normal, 0.0, MINIMUM_PAIRS, 0.95, 0.83),
        (_normal, 0.0, 10, 0.95, 0.90),
        (_normal, 0.0, MINIMUM_BOOTSTRAP_PAIRS, 0.95, 0.93),
        (_failures, 6.25, MINIMUM_PAIRS, 0.77, 0.74),
    ],
)
def test_how_often_95_percent_intervals_contain_the_mean(
    draw: Draw, mean: float, pairs: int, student: float, bca: float
) -> None:
    """BCa is too narrow below twenty pairs; with rare failures, t is too narrow at five pairs as well."""
    rng = np.random.default_rng(1)
    samples = [draw(rng, pairs) for _ in range(800)]
    intervals = [(known(t_interval(one)), known(bootstrap_interval(one, minimum=pairs))) for one in samples]
    covered = np.mean([[one.low <= mean <= one.high for one in both] for both in intervals], axis=0)
    assert covered == pytest.approx([student, bca], abs=0.03)


@pytest.mark.parametrize("values", [FIVE, OTHERS, [0.0, 0.0, 0.1, 0.3, 9.0, 2.0]])
def test_bootstrap_matches_scipy_with_the_same_resamples(values: list[float]) -> None:
    rng = np.random.default_rng(RESAMPLING_SEED)
    expected = stats.bootstrap((values,), np.mean, n_resamples=RESAMPLES, method="BCa", rng=rng, vectorized=True)
    result = known(bootstrap_interval(values, minimum=5))
    ends = expected.confidence_interval
    assert (result.low, result.high) == pytest.approx((ends.low, ends.high), rel=1e-9)
    assert result == bootstrap_interval(values, minimum=5), "the same every time"


@pytest.mark.parametrize(
    ("p_values", "corrected"),
    [
        ([0.01, 0.04, 0.03, 0.005], (0.03, 0.06, 0.06, 0.02)),
        ([0.2], (0.2,)),
        ([], ()),
        ([None, 0.03, None, 0.9], (None, 0.06, None, 0.9)),
        ([0.7, 0.8], (1.0, 1.0)),
    ],
)
def test_holm_by_hand(p_values: list[float | None], corrected: tuple[float | None, ...]) -> None:
    assert holm_correction(p_values) == pytest.approx(corrected)


def test_pairs_by_seed_and_unpaired_seeds() -> None:
    result = paired_statistics({1: 80.0, 2: 82.0, 4: None, 5: 60.0}, {2: 79.0, 1: 78.0, 3: 70.0, 4: 71.0, 5: math.nan})
    assert [(pair.seed, pair.difference) for pair in result.pairs] == [(1, 2.0), (2, 3.0)]
    assert (result.only_left, result.only_right) == ((5,), (3, 4))
    assert result.difference.mean == 2.5
    assert result.interval is not None
    assert (result.bootstrap, result.p, result.rank_p, result.smallest_rank_p) == (None, None, None, None)
    without = paired_statistics({1: 80.0}, {2: 80.0})
    assert (without.pairs, without.only_left, without.only_right) == ((), (1,), (2,))
    assert (without.difference, without.interval) == (Summary(0), None)


def test_distance_matches_welch() -> None:
    one, two = summarise(FIVE), Summary(5, 83.692, 0.928)
    expected = stats.ttest_ind_from_stats(one.mean, one.std, 5, two.mean, two.std, 5, equal_var=False)
    result = known(distance(one, two))
    assert result.error == pytest.approx(math.sqrt(stats.tvar(FIVE) / 5 + 0.928**2 / 5))
    assert result.difference / (result.error or 0.0) == pytest.approx(expected.statistic)
    ends = stats.ttest_ind(FIVE, OTHERS[:3], equal_var=False).confidence_interval(0.95)
    interval = known(known(distance(one, summarise(OTHERS[:3]))).interval)
    assert (interval.low, interval.high) == pytest.approx((ends.low, ends.high), rel=1e-9)


def test_distance_without_std_has_no_interval() -> None:
    assert distance(summarise([52.0, 53.0]), Summary(5, 51.5)) == Distance(1.0)
    assert distance(Summary(1, 53.0), Summary(5, 52.0, 1.0)) == Distance(1.0)
    assert distance(Summary(0), Summary(5, 51.86)) is None
    assert distance(Summary(2, 3.0, 0.0), Summary(2, 1.0, 0.0)) == Distance(2.0, 0.0)
    assert known(distance(Summary(2, 0.0, 1e-200), Summary(2, 0.0, 1e-200))).interval
