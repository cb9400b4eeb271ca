"""A recorded run and its repetition, number by number: do they agree, and if not, what else is different?"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from clarinet_tui.runs.journal_reader import parse_number
from core.metrics import is_reproducible

PLACE = frozenset({"run", "iteration", "epoch", "adaptation_epoch", "stage", "seconds"})
PACKAGES = ("clarinet-tui", "torch", "torchvision", "numpy", "scikit-learn", "pillow")
"""Those that can change the numbers."""


class Replay(msgspec.Struct, kw_only=True):
    """What was measured the second time, and with what."""

    label_hash: str
    pseudo_label_hash: str
    iterations: dict[int, Mapping[str, float | str]]
    """Metrics by iteration; not-a-number and the infinities may be text."""
    environment: dict[str, str]


@dataclass(frozen=True)
class Difference:
    """One number that is not the same; None is one that is not there."""

    iteration: int
    metric: str
    recorded: float | None
    now: float | None

    @property
    def size(self) -> float:
        """Relative to the larger of both; of numbers below 1, absolute."""
        if self.recorded is None or self.now is None:
            return math.inf
        apart = abs(self.recorded - self.now) / max(1.0, abs(self.recorded), abs(self.now))
        return math.inf if math.isnan(apart) else apart


@dataclass(frozen=True)
class Comparison:
    first: int
    last: int
    numbers: int
    differences: tuple[Difference, ...]

    @property
    def largest(self) -> Difference | None:
        return max(self.differences, key=lambda one: one.size, default=None)

    def within(self, tolerance: float) -> bool:
        return all(one.size <= tolerance for one in self.differences)


def compare_iterations(recorded: Iterable[Mapping[str, Any]], again: Mapping[int, Mapping[str, float | str]]) -> Comparison:
    """Every metric of every recorded iteration with the same one of the repetition."""
    iterations: list[int] = []
    differences: list[Difference] = []
    numbers = 0
    for row in recorded:
        iteration: int = row["iteration"]
        iterations.append(iteration)
        before = {name: value for name, value in row.items() if name not in PLACE and is_reproducible(name)}
        now = {
            name: _as_recorded(value) for name, value in again.get(iteration, {}).items() if is_reproducible(name)
        }
        for name in before.keys() | now.keys():
            numbers += 1
            one = Difference(iteration, name, before.get(name), now.get(name))
            if not _same(one.recorded, one.now):
                differences.append(one)
    differences.sort(key=lambda one: (one.iteration, one.metric))
    return Comparison(min(iterations, default=0), max(iterations, default=0), numbers, tuple(differences))


def _as_recorded(value: float | str) -> float:
    """The journal has nine digits, which are enough for every float32."""
    known = float(parse_number(value))
    return float(f"{known:.9g}")


def _same(recorded: float | None, now: float | None) -> bool:
    if recorded is None or now is None:
        return recorded is now
    return recorded == now or (math.isnan(recorded) and math.isnan(now))


def environment_differences(
    environment: Mapping[str, Any], threads: int, now: Mapping[str, str]
) -> dict[str, tuple[str, str]]:
    """What is not as it was: by name, as recorded and as it is here. What was not recorded is left out."""
    versions = environment.get("versions")
    before = {name: environment.get(name) for name in ("host", "python", "device")}
    before |= {name: versions.get(name) for name in PACKAGES} if isinstance(versions, dict) else {}
    before |= _first_sitting(environment) | {"threads": str(threads) if threads else None}
    return {
        name: (value, now[name])
        for name, value in before.items()
        if isinstance(value, str) and name in now and value != now[name]
    }


def _first_sitting(environment: Mapping[str, Any]) -> dict[str, Any]:
    """A resumed run began elsewhere: of that sitting, host and device are known."""
    sittings = environment.get("sittings")
    first = sittings[0] if isinstance(sittings, list) and sittings else None
    return {name: first.get(name) for name in ("host", "device")} if isinstance(first, dict) else {}
