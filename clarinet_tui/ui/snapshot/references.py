"""Ghosts: what stands behind the live accuracy, to measure it by: the published number, and other seeds of the same."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from clarinet_tui.chart.references import Behind
    from clarinet_tui.evidence.groups import LeftOut
    from clarinet_tui.evidence.published import Published
    from clarinet_tui.ui.snapshot.x_axes import AxisName, Pace

    Floats = NDArray[np.float64]

KINDS = {
    "both": ("published", "seeds"),
    "published": ("published",),
    "seeds": ("seeds",),
    "none": (),
}
"""What is shown, by the name under which it is remembered."""
NAMES = {
    "both": "the published number and other seeds",
    "published": "the published number",
    "seeds": "other seeds",
    "none": "nothing",
}
NOTHING = "Nothing."


@dataclass(frozen=True)
class GhostWanted:
    """What stands behind a run: the paper's number costs nothing, other seeds have to be read."""

    run: str
    seeds: bool = True


@dataclass(frozen=True, eq=False)
class Seeds:
    """Target accuracy of finished runs of other seeds, which may stand in one mean with the run: mean ± std."""

    seeds: tuple[int | None, ...]
    iteration: Floats
    low: Floats
    high: Floats

    @property
    def name(self) -> str:
        if len(self.seeds) == 1:
            return f"seed {self.seeds[0]}"
        return f"{len(self.seeds)} other seeds ± std"


@dataclass(frozen=True, eq=False)
class Ghost:
    """All that may stand behind one run."""

    wanted: GhostWanted
    published: Published | None = None
    seeds: Seeds | None = None
    left_out: tuple[LeftOut, ...] = field(default=())
    """Runs of the method and task that differ in more than their seed."""

    def behind(self, kind: str, pace: Pace, axis: AxisName) -> tuple[Behind, ...]:
        """For a chart along that axis; other seeds stand where this run is, or will be, at their iterations."""
        from clarinet_tui.chart.references import Band, Level
        from clarinet_tui.chart.series import Line

        shown = KINDS.get(kind, ())
        things: list[Behind] = []
        if self.published and "published" in shown:
            things.append(Level(self.published.mean, f"published {self.published.mean:.1f}"))
        if self.seeds and "seeds" in shown:
            x = pace.along(axis, self.seeds.iteration)
            known = x == x
            places, low, high = x[known], self.seeds.low[known], self.seeds.high[known]
            if len(self.seeds.seeds) == 1:
                things.append(Line.of(self.seeds.name, places, low))
            things.append(Band.of(places, low, high, name=self.seeds.name))
        return tuple(things)

    def sentence(self, kind: str) -> str:
        """What is behind the accuracy now, and what is not, and why."""
        shown = KINDS.get(kind, ())
        parts = []
        if "published" in shown:
            parts.append(_published(self.published))
        if "seeds" in shown:
            parts.append(_listed(self.seeds) if self.seeds else "no other seed of this is finished")
            parts += [f"left out: {_count(one)} ({one.reason})" for one in self.left_out]
        text = "; ".join(parts)
        return f"{text[:1].upper()}{text[1:]}." if text else NOTHING


def _published(found: Published | None) -> str:
    if found is None:
        return "the paper has no number of this"
    spread = "" if found.std is None else f" ± {found.std:.1f}"
    return f"published {found.mean:.1f}{spread}, at the last epoch of the paper's protocol"


def _count(apart: LeftOut) -> str:
    return "1 run" if len(apart.runs) == 1 else f"{len(apart.runs)} runs"


def _listed(seeds: Seeds) -> str:
    numbers = ", ".join(map(str, seeds.seeds))
    return f"seed {numbers}" if len(seeds.seeds) == 1 else f"seeds {numbers}, as mean ± std"
