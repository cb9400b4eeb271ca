"""The rows above a chart: its title, its lines with their values, and what is unusual about the view."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from rich.cells import cell_len, set_cell_size

from clarinet_tui.chart import palette
from clarinet_tui.chart.cells import GHOST, LABEL, PLAIN, solid
from clarinet_tui.chart.references import Band, Behind
from clarinet_tui.chart.series import Line
from clarinet_tui.chart.shading import SHADE
from clarinet_tui.text import number

TITLE = -1
SHORT = 6
"""Letters of a name that are left when there is little room."""
Piece = tuple[str, int]
"""Text and the number of its style."""


@dataclass(frozen=True)
class Entry:
    """One line in the legend."""

    marker: str
    style: int
    name: str
    value: str = ""

    def pieces(self, *, value: bool = True, letters: int | None = None) -> list[Piece]:
        shown = f" {self.value}" if value and self.value else ""
        return [(f"{self.marker} ", self.style), (self.name[:letters], LABEL), (shown, PLAIN)]


def entries(lines: tuple[Line, ...], crosshair: float | None, behind: tuple[Behind, ...] = ()) -> list[Entry]:
    """The legend of the lines, with their values at the crosshair or else their newest ones; then named ghosts."""
    bands = [thing for thing in behind if isinstance(thing, Band)]
    found = []
    for place, line in enumerate(lines):
        slot = place if line.slot is None else line.slot
        around = next((band for band in bands if band.slot == slot), None)
        value = reading(line, crosshair, around)
        found.append(Entry(line.marker or palette.marker(slot), solid(slot), line.name, value))
    return found + [Entry(SHADE, GHOST, band.name) for band in bands if band.slot is None and band.name]


def reading(line: Line, x: float | None, around: Band | None = None) -> str:
    """The line's value at x, with its range or that of the band around it; the newest value without x."""
    if x is None:
        return "" if line.last is None else number(line.last)
    index = line.nearest(x)
    if index is None:
        return ""
    mean, low, high = (float(values[index]) for values in (line.mean, line.low, line.high))
    if around is not None and (edges := around.at(float(line.x[index]))):
        low, high = edges
    if not low < high or not np.isfinite(mean):
        return number(mean)
    return f"{number(mean)} ({number(low, 3)}…{number(high, 3)})"


def header(title: str, listed: list[Entry], badges: str, width: int, rows: int) -> list[list[Piece]]:
    """Title, legend and badges in at most `rows` rows of `width` cells; first values go, then the ends of names."""
    if rows <= 0:
        return []
    for value, letters in ((True, None), (False, None), (False, SHORT)):
        laid = _wrap(title, [entry.pieces(value=value, letters=letters) for entry in listed], width)
        if len(laid) <= rows:
            break
    laid = laid[:rows]
    if badges:
        _add_badges(laid, badges, width, rows)
    return [_fill(row, width) for row in laid]


def _add_badges(laid: list[list[Piece]], badges: str, width: int, rows: int) -> None:
    """At the right end of the first row with room for them, or else in a row of their own if there may be one."""
    if len(laid) < rows:
        laid.append([])
    for row in laid:
        room = width - _length(row) - cell_len(badges)
        if room >= 2:
            row += [(" " * room, PLAIN), (badges, LABEL)]
            break
    if not laid[-1]:
        laid.pop()


def _wrap(title: str, groups: list[list[Piece]], width: int) -> list[list[Piece]]:
    rows: list[list[Piece]] = [[(title, TITLE)] if title else []]
    for group in groups:
        gap = 3 if rows[-1] else 0
        if rows[-1] and _length(rows[-1]) + gap + _length(group) > width:
            rows.append([])
            gap = 0
        rows[-1] += [(" " * gap, PLAIN), *group] if gap else group
    return rows


def _length(pieces: Iterable[Piece]) -> int:
    return sum(cell_len(text) for text, _ in pieces)


def _fill(pieces: list[Piece], width: int) -> list[Piece]:
    """The pieces cut or padded to the width, also where characters are two cells wide."""
    row, left = [], width
    for text, style in pieces:
        size = min(cell_len(text), left)
        if size:
            row.append((set_cell_size(text, size), style))
            left -= size
    return [*row, (" " * left, PLAIN)] if left else row
