"""What the Compare view requests, and what was read for it. Immutable, for use by several threads."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from clarinet_tui.analysis.choices import COMPARED_FAMILIES
from core.metrics import shown_in

if TYPE_CHECKING:
    from clarinet_tui.analysis.comparison import Comparison, PairedDifference, Side
    from clarinet_tui.analysis.seed_curves import SeedBand
    from clarinet_tui.history.axes import Axis
    from clarinet_tui.history.query_language import QueryProblem

TaskPreset = tuple[str, str | None]
"""Runs of one task and preset share a chart."""
BandName = Literal["std", "interval", "range", "none"]
BANDS: dict[BandName, str] = {"std": "± std", "interval": "95 % interval", "range": "min–max", "none": "no band"}
COMPARED_METRICS = tuple(shown_in("comparison"))


@dataclass(frozen=True)
class ComparisonRequest:
    """Runs by id, or two queries; with neither, the reader selects the runs."""

    runs: tuple[str, ...] = ()
    queries: tuple[str, str] | None = None
    metric: str = "target_accuracy"
    axis: Axis = "samples"
    width: int = 200
    task_preset: TaskPreset | None = None
    """The task and preset whose curves are read; None is the first."""


@dataclass(frozen=True)
class TaskComparison:
    """The left and right sides of one task, and the difference of each pair of them."""

    task_preset: TaskPreset
    lefts: tuple[Side, ...]
    rights: tuple[Side, ...]
    differences: tuple[PairedDifference, ...]

    @property
    def sides(self) -> tuple[Side, ...]:
        return (*self.lefts, *self.rights)


@dataclass(frozen=True, eq=False)
class ComparisonSnapshot:
    """One comparison; an unchanged comparison stays the same object."""

    request: ComparisonRequest
    description: str = ""
    """How the runs were selected, or why there are none."""
    queries: tuple[str, str] | None = None
    """The queries that selected the runs, also if they are the default ones."""
    matches: tuple[int, ...] = ()
    """The number of runs that each query selects."""
    problems: tuple[QueryProblem | None, ...] = ()
    comparison: Comparison | None = None
    parts: tuple[TaskComparison, ...] = ()
    curves: Mapping[int, SeedBand] | None = None
    """Curves of the shown task's sides, by the side's index."""
    metrics: tuple[str, ...] = ()
    """The metrics that any side of the shown task has, of `COMPARED_METRICS` or of plug-ins."""

    @property
    def selection(self) -> tuple[object, ...]:
        """The requested runs or queries."""
        return self.request.runs, self.request.queries

    @property
    def part(self) -> TaskComparison | None:
        """The task whose curves were read."""
        requested = [part for part in self.parts if part.task_preset == self.request.task_preset]
        return next(iter(requested or self.parts), None)

    @property
    def command(self) -> str:
        """The command line for the same comparison."""
        if self.queries:
            one_step, two_step = self.queries
            return shlex.join(["clarinet", "compare", "--one-step", one_step, "--two-step", two_step])
        return shlex.join(["clarinet", "compare", *self.request.runs])


def split_by_task(comparison: Comparison) -> tuple[TaskComparison, ...]:
    """Group by task and preset of the left sides; sides without a counterpart come last."""
    paired: dict[TaskPreset, list[PairedDifference]] = {}
    for difference in comparison.differences:
        paired.setdefault((difference.left.task, difference.left.preset), []).append(difference)
    parts = []
    for task_preset, pairs in paired.items():
        lefts, rights = _unique(pair.left for pair in pairs), _unique(pair.right for pair in pairs)
        parts.append(TaskComparison(task_preset, lefts, rights, tuple(pairs)))
    families = {run.id: run.family for run in comparison.runs}
    shown = {id(side) for part in parts for side in part.sides}
    unpaired: dict[TaskPreset, list[Side]] = {}
    for side in comparison.sides:
        if id(side) not in shown and (side.task, side.preset) not in paired:
            unpaired.setdefault((side.task, side.preset), []).append(side)
    for task_preset, sides in unpaired.items():
        rights = tuple(side for side in sides if families.get(side.runs[0].run) == COMPARED_FAMILIES[1])
        lefts = tuple(side for side in sides if side not in rights)
        parts.append(TaskComparison(task_preset, lefts, rights, ()))
    return tuple(parts)


def _unique(sides: Iterable[Side]) -> tuple[Side, ...]:
    return tuple({id(side): side for side in sides}.values())
