"""Compare a recorded run with its replay, value by value, and the environments of both."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from clarinet_tui.runs.journal import parse_number
from core.metrics import is_reproducible

NOT_METRICS = frozenset({"run", "iteration", "epoch", "adaptation_epoch", "stage", "seconds"})
PACKAGES = ("clarinet-tui", "torch", "torchvision", "numpy", "scikit-learn", "pillow")
"""Packages that can change the results."""


class Replay(msgspec.Struct, kw_only=True):
    """The metrics and the environment of a replay."""

    label_hash: str
    pseudo_label_hash: str
    iterations: dict[int, Mapping[str, float | str]]
    """Metrics by iteration; NaN and the infinities may be text."""
    environment: dict[str, str]


@dataclass(frozen=True)
class ReplayDifference:
    """A value that differs; None if it is missing."""

    iteration: int
    metric: str
    recorded: float | None
    replayed: float | None

    @property
    def size(self) -> float:
        """The difference relative to the larger value; absolute for values below 1."""
        if self.recorded is None or self.replayed is None:
            return math.inf
        size = abs(self.recorded - self.replayed) / max(1.0, abs(self.recorded), abs(self.replayed))
        return math.inf if math.isnan(size) else size


@dataclass(frozen=True)
class ReplayComparison:
    first_iteration: int
    last_iteration: int
    value_count: int
    differences: tuple[ReplayDifference, ...]

    @property
    def largest(self) -> ReplayDifference | None:
        return max(self.differences, key=lambda difference: difference.size, default=None)

    def is_within(self, tolerance: float) -> bool:
        return all(difference.size <= tolerance for difference in self.differences)


def compare_iterations(
    recorded: Iterable[Mapping[str, Any]], replayed: Mapping[int, Mapping[str, float | str]]
) -> ReplayComparison:
    """Compare every recorded metric of every recorded iteration; the version that recorded may have had fewer."""
    rows = list(recorded)
    names = {name for row in rows for name in row if name not in NOT_METRICS and is_reproducible(name)}
    iterations: list[int] = []
    differences: list[ReplayDifference] = []
    count = 0
    for row in rows:
        iteration: int = row["iteration"]
        iterations.append(iteration)
        expected = {name: value for name, value in row.items() if name in names}
        metrics = {name: parse_number(value) for name, value in replayed.get(iteration, {}).items() if name in names}
        # Rounded as recorded: the nine digits of the journal represent every float32.
        actual = {name: float(f"{float(value):.9g}") for name, value in metrics.items()}
        for name in expected.keys() | actual.keys():
            count += 1
            difference = ReplayDifference(iteration, name, expected.get(name), actual.get(name))
            if not _is_equal(difference.recorded, difference.replayed):
                differences.append(difference)
    differences.sort(key=lambda difference: (difference.iteration, difference.metric))
    return ReplayComparison(min(iterations, default=0), max(iterations, default=0), count, tuple(differences))


def _is_equal(recorded: float | None, replayed: float | None) -> bool:
    if recorded is None or replayed is None:
        return recorded is replayed
    return recorded == replayed or (math.isnan(recorded) and math.isnan(replayed))


def environment_differences(
    environment: Mapping[str, Any], threads: int, replayed: Mapping[str, str]
) -> dict[str, tuple[str, str]]:
    """Return the recorded and the replayed value of each difference, by name. Unrecorded values are skipped."""
    versions = environment.get("versions")
    recorded = {name: environment.get(name) for name in ("host", "python", "device")}
    recorded |= {name: versions.get(name) for name in PACKAGES} if isinstance(versions, dict) else {}
    recorded["threads"] = str(threads) if threads else None
    earlier = environment.get("earlier_attempts")
    if isinstance(earlier, list) and earlier and isinstance(earlier[0], dict):  # a resumed run
        recorded |= {name: earlier[0].get(name) for name in ("host", "device")}
    return {
        name: (value, replayed[name])
        for name, value in recorded.items()
        if isinstance(value, str) and name in replayed and value != replayed[name]
    }
