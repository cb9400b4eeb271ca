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
        """The difference relative to the larger value, absolute for values below 1; 0 for two NaN."""
        if self.recorded is None or self.replayed is None:
            return math.inf
        if self.recorded == self.replayed or (math.isnan(self.recorded) and math.isnan(self.replayed)):
            return 0.0
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
    rows = sorted(recorded, key=lambda row: row["iteration"])
    names = {name for row in rows for name in row if name not in NOT_METRICS and is_reproducible(name)}
    compared: list[ReplayDifference] = []
    for row in rows:
        expected = {name: value for name, value in row.items() if name in names}
        metrics = replayed.get(row["iteration"], {})
        # Rounded as recorded: the nine digits of the journal represent every float32.
        actual = {name: float(f"{parse_number(value):.9g}") for name, value in metrics.items() if name in names}
        for name in sorted(expected.keys() | actual.keys()):
            compared.append(ReplayDifference(row["iteration"], name, expected.get(name), actual.get(name)))
    differences = tuple(difference for difference in compared if difference.size > 0)
    return ReplayComparison(rows[0]["iteration"], rows[-1]["iteration"], len(compared), differences)


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
