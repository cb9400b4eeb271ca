"""Which runs a figure shows: those that the board counts, by task and method in the paper's order."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clarinet_tui.evidence.bands import bands
from clarinet_tui.evidence.board import Board, make_board
from clarinet_tui.evidence.board_rows import short_name
from clarinet_tui.evidence.figures.figure import Band, Line, slots
from clarinet_tui.evidence.groups import LeftOut
from clarinet_tui.evidence.run_records import Archive, Record
from clarinet_tui.evidence.sides import Side, sides_of
from clarinet_tui.history.queries import get_run
from core.errors import InputError

if TYPE_CHECKING:
    from clarinet_tui.evidence.bands import Bands, Curve, Floats

POINTS = 300
"""Places of a curve whose runs have no places in common, and the most that a run's own line has."""


@dataclass(frozen=True)
class Chosen:
    """Sides of one preset, and sentences about runs that are in none."""

    sides: tuple[Side, ...]
    notes: tuple[str, ...]

    @property
    def tasks(self) -> list[str]:
        return list(dict.fromkeys(side.task for side in self.sides))

    @property
    def slots(self) -> dict[str, int]:
        return slots(side.method for side in self.sides)

    def of(self, task: str) -> list[Side]:
        return [side for side in self.sides if side.task == task]


def choose(archive: Archive, query: str = "", *, preset: str | None = None) -> Chosen:
    """The runs that match, of one preset: that of most finished runs, unless another is asked for."""
    return chosen_by(archive, make_board(archive, query, preset=preset))


def chosen_by(archive: Archive, board: Board) -> Chosen:
    order = list(dict.fromkeys(method for part in board.parts for method in part.methods))
    found = [side for side in sides_of(archive.search(board.query)) if side.preset == board.preset]
    if not found:
        raise InputError(f"no run matches {board.query or 'anything'!a}: `clarinet ls` lists runs")
    found.sort(key=lambda side: (board.tasks.index(side.task), order.index(side.method)))
    notes = [_note("", left) for left in board.left_out]
    notes += [_note(f"{name_of(side)}: ", left) for side in found for left in side.left_out]
    return Chosen(tuple(found), tuple(notes))


def _note(place: str, left: LeftOut) -> str:
    count = len(left.runs)
    return f"left out: {place}{left.reason} ({count} {'run' if count == 1 else 'runs'})"


def name_of(side: Side) -> str:
    return f"{short_name(side.task)} {side.title}"


def record_of(archive: Archive, run: str) -> Record:
    row = get_run(archive.db, run)
    if row is None:
        raise InputError(f"run {run}: its directory was taken away meanwhile; try again")
    return archive.record(row)


def counted(side: Side) -> tuple[str, ...]:
    """The runs that a mean is of: finished ones; where there is none yet, all."""
    done = tuple(fact.run for fact in side.runs if fact.state == "finished")
    return done or tuple(fact.run for fact in side.runs)


def line_of(
    side: Side, slot: int, curves: "dict[str, Curve]", band: Band, *, exact: bool, level: float | None = None
) -> Line | None:
    """The mean of those that count, on their own places or on a grid; None where they have no value at all."""
    named = counted(side)
    drawn = [curves[run] for run in named if run in curves and len(curves[run][0])]
    if not drawn:
        return None
    found = bands(drawn, points=None if exact or len(drawn) == 1 else POINTS)
    low, high = edges(found, band)
    members = [
        thinned(curve) for run, curve in curves.items() if len(curve[0]) and (len(drawn) > 1 or run not in named)
    ]
    return Line(side.title, slot, found.x, found.mean, low, high, tuple(members), level)


def edges(found: "Bands", band: Band) -> "tuple[Floats, Floats]":
    if band == "std":
        return found.std_low, found.std_high
    return (found.t_low, found.t_high) if band == "interval" else (found.least, found.greatest)


def thinned(curve: "Curve") -> "Curve":
    """At most so many points as can be seen, the last one among them."""
    import numpy as np

    x, y = curve
    if len(x) <= POINTS:
        return curve
    kept = np.unique(np.linspace(0, len(x) - 1, POINTS).astype(np.int64))
    return x[kept], y[kept]


def in_units(curves: "Sequence[Curve]", units: Sequence[tuple[float, str]]) -> tuple[float, str]:
    """The largest unit that the longest curve has two of, or the last one."""
    ends = [float(x[-1]) for x, _ in curves if len(x)]
    return next((unit for unit in units if max(ends, default=0.0) >= 2 * unit[0]), units[-1])
