"""The header of a chart: its title, its lines with their values, and badges."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from rich.cells import cell_len, set_cell_size

from clarinet_tui.chart import palette
from clarinet_tui.chart.cells import LABEL, PLAIN, REFERENCE, line_style
from clarinet_tui.chart.curve import Band, Line, Reference
from clarinet_tui.chart.render import SHADE
from clarinet_tui.text import format_number

TITLE = -1
"""The style number of the title; those of the chart itself begin at 0."""
SHORT = 6
"""Length of a name where space is short."""
Piece = tuple[str, int]
"""A text and its style number."""


@dataclass(frozen=True)
class LegendEntry:
    """A line or band with its marker and value."""

    marker: str
    style: int
    name: str
    value: str = ""

    def pieces(self, *, value: bool = True, letters: int | None = None) -> list[Piece]:
        shown = (f" {self.value}" if self.name else self.value) if value and self.value else ""
        return [(f"{self.marker} ", self.style), (self.name[:letters], LABEL), (shown, PLAIN)]


def legend_entries(
    lines: tuple[Line, ...], crosshair: float | None, references: tuple[Reference, ...] = ()
) -> list[LegendEntry]:
    """List the lines with their values at the crosshair, or else their latest values, then the named bands."""
    bands = [reference for reference in references if isinstance(reference, Band)]
    entries = []
    for index, line in enumerate(lines):
        colour_index = index if line.colour_index is None else line.colour_index
        band = next((band for band in bands if band.colour_index == colour_index), None)
        value = format_value(line, crosshair, band)
        entries.append(LegendEntry(palette.marker(colour_index), line_style(colour_index), line.name, value))
    named = (band.name for band in bands if band.colour_index is None and band.name)
    return entries + [LegendEntry(SHADE, REFERENCE, name) for name in named]


def format_value(line: Line, x: float | None, band: Band | None) -> str:
    """Format the value at x with its range or the band's range, or without an x the latest value."""
    if x is None:
        return "" if line.last is None else format_number(line.last)
    index = line.nearest(x)
    if index is None:
        return ""
    mean, low, high = (float(values[index]) for values in (line.mean, line.low, line.high))
    if band is not None and (edges := band.edges_at(float(line.x[index]))):
        low, high = edges
    if not low < high or not np.isfinite(mean):
        return format_number(mean)
    return f"{format_number(mean)} ({format_number(low, 3)}…{format_number(high, 3)})"


def chart_header(title: str, entries: list[LegendEntry], badges: str, width: int, rows: int) -> list[list[Piece]]:
    """Lay out title, legend and badges in at most `rows` rows; drop values first, then shorten names."""
    if rows <= 0:
        return []
    for value, letters in ((True, None), (False, None), (False, SHORT)):
        layout = _wrap(title, [entry.pieces(value=value, letters=letters) for entry in entries], width)
        if len(layout) <= rows:
            break
    layout = layout[:rows]
    if badges:
        _add_badges(layout, badges, width, rows)
    return [_fill(row, width) for row in layout]


def _add_badges(layout: list[list[Piece]], badges: str, width: int, rows: int) -> None:
    """Put badges at the right end of the first row with room for them, or in a new row if `rows` allows it."""
    if len(layout) < rows:
        layout.append([])
    for row in layout:
        room = width - _length(row) - cell_len(badges)
        if room >= 2:
            row += [(" " * room, PLAIN), (badges, LABEL)]
            break
    if not layout[-1]:
        layout.pop()


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
    """Cut or pad the pieces to the width, also where characters are two cells wide."""
    row, left = [], width
    for text, style in pieces:
        size = min(cell_len(text), left)
        if size:
            row.append((set_cell_size(text, size), style))
            left -= size
    return [*row, (" " * left, PLAIN)] if left else row
