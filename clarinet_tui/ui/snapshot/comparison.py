"""What the Compare view wants, and what was found: frozen, so that threads can hand it over."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from core.metrics import shown_in

if TYPE_CHECKING:
    from clarinet_tui.evidence.comparison import Comparison, PairedDifference
    from clarinet_tui.evidence.side_curves import SideCurves
    from clarinet_tui.evidence.sides import Side
    from clarinet_tui.evidence.training_cost import Axis
    from clarinet_tui.ui.snapshot.snapshot import QueryProblem

COMPARED_FAMILIES = ("one-step", "two-step")
TaskPreset = tuple[str, str | None]
"""A task and a preset: what lies in one chart."""
BandName = Literal["std", "interval", "range", "none"]
BANDS: dict[BandName, str] = {"std": "± std", "interval": "95 % interval", "range": "min–max", "none": "no band"}
MEASURES = {name: metric.title_with_unit for name, metric in shown_in("comparison").items()}


@dataclass(frozen=True)
class ComparisonRequest:
    """Runs by their ids, or two queries, or neither: then what is compared is chosen by the reader."""

    runs: tuple[str, ...] = ()
    queries: tuple[str, str] | None = None
    metric: str = "target_accuracy"
    axis: Axis = "epoch"
    width: int = 200
    place: TaskPreset | None = None
    """Of what curves are wanted; None is the first."""


@dataclass(frozen=True)
class TaskComparison:
    """The sides of one task: those on the left, those on the right, and what is said of each pair of them."""

    place: TaskPreset
    lefts: tuple[Side, ...]
    rights: tuple[Side, ...]
    contrasts: tuple[PairedDifference, ...]

    @property
    def sides(self) -> tuple[Side, ...]:
        return (*self.lefts, *self.rights)


@dataclass(frozen=True, eq=False)
class ComparisonSnapshot:
    """One look at a comparison. The same look is the same object."""

    request: ComparisonRequest
    sentence: str = ""
    """How the runs were chosen, or why there are none."""
    queries: tuple[str, str] | None = None
    """By which they were chosen, also if nobody asked for them."""
    matches: tuple[int, ...] = ()
    problems: tuple[QueryProblem | None, ...] = ()
    """How many runs each query finds, or what is wrong with it."""
    comparison: Comparison | None = None
    parts: tuple[TaskComparison, ...] = ()
    curves: Mapping[int, SideCurves] | None = None
    """Of the sides of the part that is shown, by their number in it."""
    measures: tuple[str, ...] = ()
    """Those of `MEASURES` that any side of that part has."""

    @property
    def selection(self) -> tuple[object, ...]:
        """Which runs were asked for."""
        return self.request.runs, self.request.queries

    @property
    def part(self) -> TaskComparison | None:
        """The one that curves were read of."""
        meant = [part for part in self.parts if part.place == self.request.place]
        return next(iter(meant or self.parts), None)

    @property
    def command(self) -> str:
        """What says the same on the command line."""
        if self.queries:
            options = zip(COMPARED_FAMILIES, self.queries, strict=True)
            return shlex.join(
                ["clarinet", "compare", *(word for name, query in options for word in (f"--{name}", query))]
            )
        return shlex.join(["clarinet", "compare", *self.request.runs])


def split_by_task(comparison: Comparison) -> tuple[TaskComparison, ...]:
    """By task and preset of the left sides, in order; what has nothing to be compared with comes last."""
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
