"""Round numbers along an axis."""

import math
from dataclasses import dataclass

from clarinet_tui.text import number

STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True)
class Tick:
    value: float
    label: str


def ticks(low: float, high: float, most: int) -> list[Tick]:
    """At most `most` and one, at multiples of a round step."""
    rough = (high - low) / max(1, most)
    if not math.isfinite(rough) or rough <= 0:
        return []
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (*STEPS, 20.0) if factor * power >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [Tick(place * step, number(place * step)) for place in range(first, last + 1)]
