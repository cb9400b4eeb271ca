"""From the curves of a comparison's sides to what charts draw: means in front, bands and runs behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clarinet_tui.chart.references import Band, Reference
from clarinet_tui.chart.series import Line
from clarinet_tui.evidence.figures.figure import colour_indices

if TYPE_CHECKING:
    from clarinet_tui.evidence.side_curves import SideCurves
    from clarinet_tui.evidence.sides import Side
    from clarinet_tui.ui.snapshot.comparison import BandName


@dataclass(frozen=True, eq=False)
class SideSeries:
    """One side in a chart."""

    mean: Line
    behind: tuple[Reference, ...] = ()


def side_names(sides: Sequence[Side]) -> list[str]:
    """What each side is called: its method; where two share it, the first run as well."""
    titles = [side.title for side in sides]
    return [
        side.title if titles.count(side.title) == 1 else f"{side.title} {side.runs[0].run}{'…' * (len(side.runs) > 1)}"
        for side in sides
    ]


def side_colours(sides: Sequence[Side]) -> list[int]:
    """Colour and marker of each side: those that its method has in every figure, or others if they are taken."""
    known = colour_indices(side.method for side in sides)
    taken: list[int] = []
    for side in sides:
        slot = known[side.method]
        while slot in taken:
            slot += 1
        taken.append(slot)
    return taken


def side_series(curves: SideCurves, name: str, slot: int, band: BandName, *, members: bool) -> SideSeries:
    found = curves.mean
    behind: list[Reference] = []
    if band != "none" and (found.n > 1).any():
        behind.append(Band.between(found.x, *found.edges(band), slot=slot))
    if members:
        behind += [Line.through("", x, y, slot=slot) for x, y in curves.members]
    return SideSeries(Line.through(name, found.x, found.mean, slot=slot), tuple(behind))
