"""A row of numbers as a row of bars."""

import itertools
import math
from collections.abc import Sequence

BARS = "▁▂▃▄▅▆▇█"


def spark(values: Sequence[float], width: int) -> str:
    """The values from their least to their greatest; a dot where none is known."""
    if not len(values) or width < 1:
        return " " * width
    count = len(values)
    cuts = [place * count // width for place in range(width + 1)]
    means = [mean(values[start : max(stop, start + 1)]) for start, stop in itertools.pairwise(cuts)]
    known = [value for value in means if math.isfinite(value)]
    low, high = min(known, default=0.0), max(known, default=0.0)
    flat = high - low <= 1e-12 * max(abs(high), 1e-300)
    return "".join(
        "·" if math.isnan(value) else BARS[3 if flat else round((value - low) / (high - low) * 7)] for value in means
    )


def mean(values: Sequence[float]) -> float:
    """Of what is known; NaN if nothing is."""
    known = [value for value in values if math.isfinite(value)]
    return sum(known) / len(known) if known else math.nan
