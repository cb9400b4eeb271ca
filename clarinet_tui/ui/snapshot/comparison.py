"""What the Compare view requests, and what was read for it. Immutable, for use by several threads."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from core.metrics import shown_in

if TYPE_CHECKING:
    from clarinet_tui.evidence.choices import Axis
    from clarinet_tui.evidence.comparison import Comparison, PairedDifference
    from clarinet_tui.evidence.side_curves import SideCurves
    from clarinet_tui.evidence.sides import Side
    from clarinet_tui.ui.snapshot.listing import QueryProblem

COMPARED_FAMILIES = ("one-step", "two-step")
TaskPreset = tuple[str, str | None]
"""Runs of one task and preset share a chart."""
BandName = Literal["std", "interval", "range", "none"]
BANDS: dict[BandName, str] = {"std": "± std", "interval": "95 % interval", "range": "min–max", "none": "no band"}
COMPARED_METRICS = {name: metric.title_with_unit for name, metric in shown_in("comparison").items()}


@dataclass(frozen=True)
class ComparisonRequest:
    """Runs by id, or two queries; with neither, the reader selects the runs."""

    runs: tuple[str, ...] = ()
    queries: tuple[str, str] | None = None
    metric: str = "target_accuracy"
    axis: Axis = "epoch"
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
    problems: tuple[QueryProblem | None, ...] = ()
    """What is wrong with each query; `matches` counts the runs that each query selects."""
    comparison: Comparison | None = None
    parts: tuple[TaskComparison, ...] = ()
    curves: Mapping[int, SideCurves] | None = None
    """Curves of the shown task's sides, by the side's index."""
    metrics: tuple[str, ...] = ()
    """The metrics of `MEASURES` that any side of the shown task has."""

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
            options = zip(COMPARED_FAMILIES, self.queries, strict=True)
            return shlex.join(
                ["clarinet", "compare", *(word for name, query in options for word in (f"--{name}", query))]
            )
        return shlex.join(["clarinet", "compare", *self.request.runs])


def split_by_task(comparison: Comparison) -> tuple[TaskComparison, ...]:
    """Group by task and preset of the left sides; sides without a counterpart come last."""
    found: dict[TaskPreset, list[PairedDifference]] = {}
    for contrast in comparison.differences:
        found.setdefault((contrast.left.task, contrast.left.preset), []).append(contrast)
    parts = [
        TaskComparison(place, _unique([one.left for one in many]), _unique([one.right for one in many]), tuple(many))
        for place, many in found.items()
    ]
    families = {run.id: run.family for run in comparison.runs}
    shown = [side for part in parts for side in part.sides]
    alone: dict[TaskPreset, list[Side]] = {}
    for side in comparison.sides:
        if not any(side is other for other in shown):
            alone.setdefault((side.task, side.preset), []).append(side)
    for place, sides in alone.items():
        if place not in found:
            lefts = [side for side in sides if families.get(side.runs[0].run) != COMPARED_FAMILIES[1]]
            parts.append(TaskComparison(place, tuple(lefts), tuple(side for side in sides if side not in lefts), ()))
    return tuple(parts)


def _unique(sides: Sequence[Side]) -> tuple[Side, ...]:
    return tuple({id(side): side for side in sides}.values())
