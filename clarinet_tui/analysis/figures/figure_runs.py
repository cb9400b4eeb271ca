"""The runs of a figure: those that the board counts, by task and method in the paper's order."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clarinet_tui.analysis.board import Board, make_board
from clarinet_tui.analysis.choices import BandKind
from clarinet_tui.analysis.comparison import Side, make_sides
from clarinet_tui.analysis.figures.figure import Curve, colour_indices
from clarinet_tui.analysis.run_records import ExcludedRuns, RunRecord, RunRecords
from clarinet_tui.analysis.side_curves import POINTS, average_curves
from clarinet_tui.history.queries import get_run
from clarinet_tui.text import format_count, format_task
from core.errors import InputError

if TYPE_CHECKING:
    from clarinet_tui.analysis.bands import Points


@dataclass(frozen=True)
class FigureRuns:
    """Sides of one preset, and notes on excluded runs."""

    sides: tuple[Side, ...]
    notes: tuple[str, ...]

    @property
    def tasks(self) -> list[str]:
        return list(dict.fromkeys(side.task for side in self.sides))

    @property
    def colour_indices(self) -> dict[str, int]:
        return colour_indices(side.method for side in self.sides)

    def sides_of_task(self, task: str) -> list[Side]:
        return [side for side in self.sides if side.task == task]


def find_figure_runs(reader: RunRecords, query: str = "", *, preset: str | None = None) -> FigureRuns:
    """Find the matching runs of one preset, by default that of most finished runs."""
    return runs_of_board(reader, make_board(reader, query, preset=preset))


def runs_of_board(reader: RunRecords, board: Board) -> FigureRuns:
    sides = [side for side in make_sides(reader.search(board.query)) if side.preset == board.preset]
    if not sides:
        problem = f"no run matches {board.query!a}" if board.query else "there are no runs"
        raise InputError(f"{problem}: `clarinet ls` lists runs")
    sides.sort(key=lambda side: (board.tasks.index(side.task), board.methods.index(side.method)))
    notes = [_note("", runs) for runs in board.excluded]
    notes += [_note(f"{task_and_method(side)}: ", runs) for side in sides for runs in side.excluded]
    return FigureRuns(tuple(sides), tuple(notes))


def _note(prefix: str, excluded: ExcludedRuns) -> str:
    return f"excluded: {prefix}{excluded.reason} ({format_count(len(excluded.runs), 'run')})"


def task_and_method(side: Side) -> str:
    return f"{format_task(side.task)} {side.title}"


def read_record(reader: RunRecords, run: str) -> RunRecord:
    row = get_run(reader.db, run)
    if row is None:
        raise InputError(f"run {run}: its directory has been removed; try again")
    return reader.record(row)


def make_curve(
    side: Side, colour_index: int, curves: "dict[str, Points]", band: BandKind, *, exact: bool
) -> Curve | None:
    """Average the counted runs of a side; None if they have no values."""
    averaged = average_curves(side, curves, exact=exact)
    mean, (low, high) = averaged.mean, averaged.mean.edges(band)
    members = tuple(thin_curve(curve) for curve in averaged.members)
    return Curve(side.title, colour_index, mean.x, mean.mean, low, high, members) if mean.x.size else None


def thin_curve(curve: "Points") -> "Points":
    """Reduce a curve to at most `POINTS` points, including the last one."""
    import numpy as np

    x, y = curve
    if len(x) <= POINTS:
        return curve
    kept = np.unique(np.linspace(0, len(x) - 1, POINTS).astype(np.int64))
    return x[kept], y[kept]


def choose_unit(curves: "Sequence[Points]", units: Sequence[tuple[float, str]]) -> tuple[float, str]:
    """Return the largest unit that fits twice into the longest curve, or the last one."""
    ends = [float(x[-1]) for x, _ in curves if len(x)]
    return next((unit for unit in units if max(ends, default=0.0) >= 2 * unit[0]), units[-1])
