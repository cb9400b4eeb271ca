"""References behind the live accuracy: the published number, and a band of other seeds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clarinet_tui.text import format_count, format_mean

if TYPE_CHECKING:
    from clarinet_tui.analysis.statistics import Summary
    from clarinet_tui.chart.curve import Curve, Reference
    from clarinet_tui.history.axes import Axis, AxisMap
    from clarinet_tui.history.variants import ExcludedRuns

REFERENCE_KINDS = {"both": ("published", "seeds"), "published": ("published",), "seeds": ("seeds",), "none": ()}
"""The references shown, by the stored name of the preference."""
REFERENCE_NAMES = {
    "both": "the published number and other seeds",
    "published": "the published number",
    "seeds": "other seeds",
    "none": "nothing",
}
NONE_SHOWN = "No references are shown."


@dataclass(frozen=True)
class ReferenceRequest:
    """References of a run: the published number, and its other seeds if `seeds` is set."""

    run: str
    seeds: bool = True


@dataclass(frozen=True, eq=False)
class References:
    """The references of one run."""

    request: ReferenceRequest
    published: Summary | None = None
    seeds: tuple[int | None, ...] = ()
    """Seeds of finished runs that differ from the run only in their seed."""
    seed_curve: Curve | None = None
    """Mean ± std of their target accuracy along iterations, or the curve of a single one."""
    excluded: tuple[ExcludedRuns, ...] = ()
    """Runs of the same method and task that differ in more than their seed."""

    def for_chart(self, kind: str, axis_map: AxisMap, axis: Axis) -> tuple[Reference, ...]:
        """Return the references for a chart; the x values of other seeds are mapped as this run's iterations are."""
        from clarinet_tui.chart.curve import ReferenceLine

        shown = REFERENCE_KINDS.get(kind, ())
        references: list[Reference] = []
        published = self.published.mean if self.published else None
        if published is not None and "published" in shown:
            references.append(ReferenceLine(published, f"published {published:.1f}"))
        if self.seed_curve and "seeds" in shown:
            references.append(self.seed_curve.along(axis_map.to_axis(axis, self.seed_curve.x)))
        return tuple(references)

    def describe(self, kind: str) -> str:
        """Describe what is shown, and what is not, and why."""
        shown = REFERENCE_KINDS.get(kind, ())
        parts = []
        if "published" in shown:
            if self.published is None:
                parts.append("the paper reports no number for this method and task")
            else:
                mean = format_mean(self.published.mean, self.published.std, 1)
                parts.append(f"published {mean}, at the last epoch of the paper's protocol")
        if "seeds" in shown:
            numbers = ", ".join(map(str, self.seeds))
            several = f"seeds {numbers}, as mean ± std" if self.seeds else "no other seed has finished"
            parts.append(f"seed {numbers}" if len(self.seeds) == 1 else several)
            parts += [f"excluded: {format_count(len(group.runs), 'run')} ({group.reason})" for group in self.excluded]
        text = "; ".join(parts)
        return f"{text[:1].upper()}{text[1:]}." if text else NONE_SHOWN
