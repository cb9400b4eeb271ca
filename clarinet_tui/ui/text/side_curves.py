"""From the curves of a comparison's sides to what charts draw: means in front, bands and runs behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clarinet_tui.chart.references import Band, Behind
from clarinet_tui.chart.series import Line
from clarinet_tui.evidence.figures.figure import slots

if TYPE_CHECKING:
    from clarinet_tui.chart.series import Floats
    from clarinet_tui.evidence.bands import Bands
    from clarinet_tui.evidence.side_curves import SideCurves
    from clarinet_tui.evidence.sides import Side
    from clarinet_tui.ui.snapshot.comparison import BandName


@dataclass(frozen=True, eq=False)
class SideLines:
    """One side in a chart."""

    mean: Line
    behind: tuple[Behind, ...] = ()


def labels(sides: Sequence[Side]) -> list[str]:
    """What each side is called: its method; where two share it, the first run as well."""
    titles = [side.title for side in sides]
    return [
        side.title if titles.count(side.title) == 1 else f"{side.title} {side.runs[0].run}{'…' * (len(side.runs) > 1)}"
        for side in sides
    ]


def slots_of(sides: Sequence[Side]) -> list[int]:
    """Colour and marker of each side: those that its method has in every figure, or others if they are taken."""
    known = slots(side.method for side in sides)
    taken: list[int] = []
    for side in sides:
        slot = known[side.method]
        while slot in taken:
            slot += 1
        taken.append(slot)
    return taken


def side_lines(curves: SideCurves, name: str, slot: int, band: BandName, *, members: bool) -> SideLines:
    found = curves.mean
    behind: list[Behind] = []
    edges = _edges(found, band)
    if edges is not None and (found.n > 1).any():
        behind.append(Band.of(found.x, *edges, slot=slot))
    if members:
        behind += [Line.of("", x, y, slot=slot) for x, y in curves.members]
    return SideLines(Line.of(name, found.x, found.mean, slot=slot), tuple(behind))


def _edges(found: Bands, band: BandName) -> tuple[Floats, Floats] | None:
    return {
        "std": (found.std_low, found.std_high),
        "interval": (found.t_low, found.t_high),
        "range": (found.least, found.greatest),
    }.get(band)
