"""Means, paired differences, confidence intervals and tests over a few seeds, on plain floats.

The t distribution comes from scipy.special, because scipy.stats takes seconds to import.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

CONFIDENCE = 0.95
MINIMUM_PAIRS = 5
"""No p-value is computed from fewer pairs."""
MINIMUM_BOOTSTRAP_PAIRS = 20
"""No bootstrap interval is computed from fewer pairs: of 5 normal differences, BCa's covers 83 % instead of 95 %."""
RESAMPLES = 10_000
RESAMPLING_SEED = 2020
ROUNDING = 1e-9
"""Relative spread below which values count as equal up to floating-point rounding."""


@dataclass(frozen=True)
class Interval:
    """A 95 % confidence interval."""

    low: float
    high: float


@dataclass(frozen=True)
class Summary:
    """Mean and sample standard deviation (n - 1) of the finite values."""

    n: int
    mean: float | None = None
    std: float | None = None
    missing: int = 0
    """Number of values that are None or not finite and therefore excluded."""

    @property
    def error(self) -> float | None:
        """The standard error of the mean."""
        return None if self.std is None else self.std / math.sqrt(self.n)


def summarise(values: Iterable[float | None]) -> Summary:
    samples = list(values)
    known = _finite(samples)
    std = None if len(known) < 2 else 0.0 if _is_constant(known) else stdev(known)
    return Summary(len(known), fmean(known) if known else None, std, len(samples) - len(known))


def t_interval(values: Iterable[float | None]) -> Interval | None:
    """Return Student's t interval of the mean, or None for fewer than two values or equal values."""
    summary = summarise(values)
    if summary.mean is None or not summary.error:
        return None
    margin = t_quantile(summary.n - 1) * summary.error
    return Interval(summary.mean - margin, summary.mean + margin)


def t_quantile(degrees_of_freedom: float) -> float:
    """Return the half-width of a 95 % interval in standard errors."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees_of_freedom, (1 + CONFIDENCE) / 2))


def t_test(differences: Iterable[float | None]) -> float | None:
    """Return the two-sided p-value of the paired t-test; None for fewer than five pairs or equal differences."""
    from scipy.special import stdtr

    known = _finite(differences)
    if len(known) < MINIMUM_PAIRS or _is_constant(known):
        return None
    t = fmean(known) / (stdev(known) / math.sqrt(len(known)))
    return float(2 * stdtr(len(known) - 1, -abs(t)))


def wilcoxon_test(differences: Iterable[float | None]) -> float | None:
    """Return the two-sided p-value of Wilcoxon's signed-rank test, exact for any number of pairs.

    None for the same differences as of `t_test`. Differences of zero have no rank, equal sizes have their mean rank.
    """
    import numpy as np

    known = _finite(differences)
    if len(known) < MINIMUM_PAIRS or _is_constant(known):
        return None
    by_size = np.array(sorted((difference for difference in known if difference != 0), key=abs))
    sizes = np.abs(by_size)
    ties = np.cumsum(np.diff(sizes, prepend=0.0) > ROUNDING * sizes[-1])
    _, group, counts = np.unique(ties, return_inverse=True, return_counts=True)
    doubled = (2 * np.cumsum(counts) - counts + 1)[group]  # twice the mean rank, a whole number
    smaller = min(doubled[by_size < 0].sum(), doubled[by_size > 0].sum())
    distribution = np.ones(1)  # of the sum of the positive ranks, if either sign is as likely
    for rank in doubled:
        shift = np.zeros(rank)
        distribution = (np.concatenate((distribution, shift)) + np.concatenate((shift, distribution))) / 2
    return min(1.0, 2 * float(distribution[: smaller + 1].sum()))


def smallest_wilcoxon_p(differences: Iterable[float | None]) -> float:
    """Return the p-value that the signed-rank test has if all differences have the same sign."""
    return min(1.0, 2.0 ** (1 - sum(difference != 0 for difference in _finite(differences))))


def bootstrap_interval(values: Iterable[float | None], minimum: int = MINIMUM_BOOTSTRAP_PAIRS) -> Interval | None:
    """Return the bias-corrected and accelerated (BCa) interval of the mean; None for fewer or equal values."""
    import numpy as np
    from scipy.special import ndtr, ndtri

    known = np.array(_finite(values), dtype=np.float64)
    if len(known) < minimum or _is_constant(known.tolist()):
        return None
    mean = float(known.mean())
    resamples = np.random.default_rng(RESAMPLING_SEED).integers(0, len(known), (RESAMPLES, len(known)))
    means = known[resamples].mean(axis=1)
    bias = ndtri(((means < mean).mean() + (means <= mean).mean()) / 2)
    leverage = known - mean
    acceleration = (leverage**3).sum() / (6 * (leverage**2).sum() ** 1.5)
    tail = ndtri((1 - CONFIDENCE) / 2)
    ends = [bias + (bias + z) / (1 - acceleration * (bias + z)) for z in (tail, -tail)]
    low, high = np.quantile(means, ndtr(ends))
    return Interval(float(low), float(high))


def holm_correction(p_values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Return p-values after Holm's correction for as many tests as have one; None stays None."""
    ranked = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * len(p_values)
    smallest = 0.0
    for rank, (p, index) in enumerate(ranked):
        smallest = max(smallest, min(1.0, (len(ranked) - rank) * p))
        corrected[index] = smallest
    return tuple(corrected)


@dataclass(frozen=True)
class Pair:
    """The values of one seed on both sides."""

    seed: int
    left: float
    right: float

    @property
    def difference(self) -> float:
        return self.left - self.right


@dataclass(frozen=True)
class PairedStatistics:
    """Left minus right over the seeds that both sides have."""

    pairs: tuple[Pair, ...]
    only_left: tuple[int, ...]
    only_right: tuple[int, ...]
    """Seeds with a value on one side only."""
    left: Summary
    right: Summary
    """The values of the pairs alone."""
    difference: Summary
    interval: Interval | None
    bootstrap: Interval | None
    p: float | None
    """Of the paired t-test, not corrected for multiple tests."""
    rank_p: float | None
    """Of Wilcoxon's signed-rank test, not corrected for multiple tests."""
    smallest_rank_p: float | None
    """What `rank_p` is if all differences have the same sign."""


def paired_statistics(left: Mapping[int, float | None], right: Mapping[int, float | None]) -> PairedStatistics:
    """Pair values by seed; a seed without a finite value on both sides forms no pair."""
    one, two = (
        {seed: value for seed, value in side.items() if value is not None and math.isfinite(value)}
        for side in (left, right)
    )
    pairs = tuple(Pair(seed, one[seed], two[seed]) for seed in sorted(one.keys() & two.keys()))
    differences = [pair.difference for pair in pairs]
    rank_p = wilcoxon_test(differences)
    return PairedStatistics(
        pairs=pairs,
        only_left=tuple(sorted(one.keys() - two.keys())),
        only_right=tuple(sorted(two.keys() - one.keys())),
        left=summarise([pair.left for pair in pairs]),
        right=summarise([pair.right for pair in pairs]),
        difference=summarise(differences),
        interval=t_interval(differences),
        bootstrap=bootstrap_interval(differences),
        p=t_test(differences),
        rank_p=rank_p,
        smallest_rank_p=None if rank_p is None else smallest_wilcoxon_p(differences),
    )


@dataclass(frozen=True)
class Distance:
    """Difference of two means with its standard error and interval."""

    difference: float
    error: float | None = None
    interval: Interval | None = None


def distance(one: Summary, two: Summary) -> Distance | None:
    """Return one minus two with Welch's interval for independent runs; no interval without deviations of both."""
    if one.mean is None or two.mean is None:
        return None
    difference = one.mean - two.mean
    if one.error is None or two.error is None:
        return Distance(difference)
    error = math.hypot(one.error, two.error)
    if error == 0:
        return Distance(difference, 0.0)
    shares = (one.error / error) ** 4 / (one.n - 1) + (two.error / error) ** 4 / (two.n - 1)
    margin = t_quantile(1 / shares) * error
    return Distance(difference, error, Interval(difference - margin, difference + margin))


def _finite(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None and math.isfinite(value)]


def _is_constant(values: Sequence[float]) -> bool:
    return max(values) - min(values) <= ROUNDING * max(map(abs, values))
