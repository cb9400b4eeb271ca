"""Curves of several seeds as one line with bands around it, on a common x."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clarinet_tui.evidence.statistics import CONFIDENCE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Curve = tuple[Floats, Floats]
    """Places, in order, and values; not-a-number is a gap."""


@dataclass(frozen=True, eq=False)
class Bands:
    """One entry for each place. NaN where too few runs have a value: none for the mean, fewer than two for a spread."""

    x: "Floats"
    n: "NDArray[np.int64]"
    """How many runs have a value here: where it changes, a jump of the mean may come from that alone."""
    mean: "Floats"
    std_low: "Floats"
    std_high: "Floats"
    """Mean minus and plus the sample standard deviation: how much seeds differ."""
    t_low: "Floats"
    t_high: "Floats"
    """The 95 % t interval of the mean: how well the mean is known."""
    least: "Floats"
    greatest: "Floats"


def bands(curves: "Sequence[Curve]", *, points: int | None = None) -> Bands:
    """At the places that the runs have themselves, such as epochs; or at `points` places in between, by straight lines.

    A run counts only from its first place to its last one, and never across a gap.
    """
    import numpy as np
    from scipy.special import stdtrit

    drawn = [(np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)) for x, y in curves if len(x)]
    places = np.unique(np.concatenate([x for x, _ in drawn])) if drawn else np.empty(0)
    places = places[np.isfinite(places)]
    if points is not None and len(places):
        places = np.linspace(places[0], places[-1], points)
    at = _between if points is not None else _exactly
    values = np.array([at(places, x, y) for x, y in drawn]).reshape(len(drawn), len(places))
    known = np.isfinite(values)
    n = known.sum(axis=0)
    mean = np.where(n > 0, np.where(known, values, 0.0).sum(axis=0) / np.maximum(n, 1), np.nan)
    squares = np.where(known, values - mean, 0.0) ** 2
    std = np.where(n > 1, np.sqrt(squares.sum(axis=0) / np.maximum(n - 1, 1)), np.nan)
    reach = stdtrit(np.maximum(n - 1, 1), (1 + CONFIDENCE) / 2) * std / np.sqrt(np.maximum(n, 1))
    least = np.where(known, values, np.inf).min(axis=0, initial=np.inf)
    greatest = np.where(known, values, -np.inf).max(axis=0, initial=-np.inf)
    return Bands(
        x=places,
        n=n,
        mean=mean,
        std_low=mean - std,
        std_high=mean + std,
        t_low=mean - reach,
        t_high=mean + reach,
        least=np.where(n > 0, least, np.nan),
        greatest=np.where(n > 0, greatest, np.nan),
    )


def _exactly(places: "Floats", x: "Floats", y: "Floats") -> "Floats":
    import numpy as np

    values = np.full(len(places), np.nan)
    usable = np.isfinite(x)
    values[np.searchsorted(places, x[usable])] = y[usable]
    return values


def _between(places: "Floats", x: "Floats", y: "Floats") -> "Floats":
    import numpy as np

    usable = np.isfinite(x)
    if not usable.any():
        return np.full(len(places), np.nan)
    return np.interp(places, x[usable], y[usable], left=np.nan, right=np.nan)
