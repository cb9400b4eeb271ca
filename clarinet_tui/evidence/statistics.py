"""What may be said of a few seeds: means, paired differences, intervals and tests. Plain floats in and out.

scipy.special has the t distribution; scipy.stats would take seconds to import.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

CONFIDENCE = 0.95
FEWEST_PAIRS = 5
"""Below this a p-value or a bootstrap interval says more about luck than about methods, and none is given."""
RESAMPLES = 10_000
RESAMPLING_SEED = 2020
BOOTSTRAP = "BCa"
ROUNDING = 1e-12
"""Relative spread below which values are one and the same, but for the last digits of their floats."""


@dataclass(frozen=True)
class Interval:
    """95 % confidence, both ends."""

    low: float
    high: float


@dataclass(frozen=True)
class Summary:
    """Mean and sample standard deviation (n - 1) of the values that are known."""

    n: int
    mean: float | None = None
    std: float | None = None
    unknown: int = 0
    """How many values are missing or not finite: they are left out, and counted."""

    @property
    def error(self) -> float | None:
        """The standard error of the mean."""
        return None if self.std is None else self.std / math.sqrt(self.n)


def summarise(values: Iterable[float | None]) -> Summary:
    given = list(values)
    known = _known(given)
    spread = None if len(known) < 2 else 0.0 if _constant(known) else stdev(known)
    return Summary(len(known), fmean(known) if known else None, spread, len(given) - len(known))


def t_interval(values: Iterable[float | None]) -> Interval | None:
    """Of the mean, by Student's t; of paired differences it is the paired t interval. Two values or more."""
    summary = summarise(values)
    if summary.mean is None or summary.error is None:
        return None
    reach = t_quantile(summary.n - 1) * summary.error
    return Interval(summary.mean - reach, summary.mean + reach)


def t_quantile(freedom: float) -> float:
    """How many standard errors an interval reaches to each side."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + CONFIDENCE) / 2))


def t_test(differences: Iterable[float | None]) -> float | None:
    """The two-sided p-value of the paired t-test. None below five pairs, and where nothing varies."""
    from scipy.special import stdtr

    known = _known(differences)
    if len(known) < FEWEST_PAIRS or _constant(known):
        return None
    t = fmean(known) / (stdev(known) / math.sqrt(len(known)))
    return float(2 * stdtr(len(known) - 1, -abs(t)))


def bootstrap_interval(values: Iterable[float | None]) -> Interval | None:
    """Of the mean: bias-corrected and accelerated (BCa), the same resamples every time. None below five values."""
    import numpy as np
    from scipy.special import ndtr, ndtri

    known = np.array(_known(values), dtype=np.float64)
    if len(known) < FEWEST_PAIRS:
        return None
    mean = float(known.mean())
    if _constant(known.tolist()):
        return Interval(mean, mean)
    chosen = np.random.default_rng(RESAMPLING_SEED).integers(0, len(known), (RESAMPLES, len(known)))
    means = known[chosen].mean(axis=1)
    bias = ndtri(((means < mean).mean() + (means <= mean).mean()) / 2)
    leverage = known - mean
    acceleration = (leverage**3).sum() / (6 * (leverage**2).sum() ** 1.5)
    tail = ndtri((1 - CONFIDENCE) / 2)
    ends = [bias + (bias + z) / (1 - acceleration * (bias + z)) for z in (tail, -tail)]
    low, high = np.quantile(means, ndtr(ends))
    return Interval(float(low), float(high))


def holm(p_values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Holm's correction for as many comparisons as have a p-value; the others stay None."""
    ranked = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * len(p_values)
    least = 0.0
    for rank, (p, place) in enumerate(ranked):
        least = max(least, min(1.0, (len(ranked) - rank) * p))
        corrected[place] = least
    return tuple(corrected)


@dataclass(frozen=True)
class Pair:
    """One seed on both sides."""

    seed: int
    left: float
    right: float

    @property
    def difference(self) -> float:
        return self.left - self.right


@dataclass(frozen=True)
class Paired:
    """Left minus right, seed by seed."""

    pairs: tuple[Pair, ...]
    only_left: tuple[int, ...]
    only_right: tuple[int, ...]
    """Seeds that only this side has a value for."""
    difference: Summary
    interval: Interval | None
    bootstrap: Interval | None
    p: float | None
    """Of this comparison alone, not corrected for others."""


def paired(left: Mapping[int, float | None], right: Mapping[int, float | None]) -> Paired:
    """Values by seed; a seed whose value is not known on a side is no pair."""
    one, two = _known_by_seed(left), _known_by_seed(right)
    pairs = tuple(Pair(seed, one[seed], two[seed]) for seed in sorted(one.keys() & two.keys()))
    differences = [pair.difference for pair in pairs]
    return Paired(
        pairs=pairs,
        only_left=tuple(sorted(one.keys() - two.keys())),
        only_right=tuple(sorted(two.keys() - one.keys())),
        difference=summarise(differences),
        interval=t_interval(differences),
        bootstrap=bootstrap_interval(differences),
        p=t_test(differences),
    )


@dataclass(frozen=True)
class Distance:
    """How far two means are apart, and how well that is known."""

    difference: float
    error: float | None = None
    interval: Interval | None = None


def distance(one: Summary, two: Summary) -> Distance | None:
    """One minus two, of independent runs: both standard errors combined, Welch's interval.

    Where a side has no spread to tell, such as a number published without ±, the difference stands alone.
    """
    if one.mean is None or two.mean is None:
        return None
    difference = one.mean - two.mean
    if one.error is None or two.error is None:
        return Distance(difference)
    error = math.hypot(one.error, two.error)
    if error == 0:
        return Distance(difference, 0.0, Interval(difference, difference))
    shares = (one.error / error) ** 4 / (one.n - 1) + (two.error / error) ** 4 / (two.n - 1)
    reach = t_quantile(1 / shares) * error
    return Distance(difference, error, Interval(difference - reach, difference + reach))


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None and math.isfinite(value)]


def _known_by_seed(values: Mapping[int, float | None]) -> dict[int, float]:
    return {seed: value for seed, value in values.items() if value is not None and math.isfinite(value)}


def _constant(values: Sequence[float]) -> bool:
    return max(values) - min(values) <= ROUNDING * max(map(abs, values))
