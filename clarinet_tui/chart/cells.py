"""A grid of characters, each with a style number, and the characters that draw several dots in a cell."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from clarinet_tui.chart.curve import Flags, Floats, Indices

Codes = NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class GlyphSet:
    """Dots per cell, and the character of each pattern (first dot = bit 0, row by row; the empty pattern is 0)."""

    across: int
    down: int
    table: Codes

    def patterns(self, dots: Flags) -> Indices:
        """Return the dots of each cell as bits; `|` combines the patterns of two lines."""
        pattern = np.zeros((dots.shape[0] // self.down, dots.shape[1] // self.across), dtype=np.intp)
        for bit in range(self.down * self.across):
            row, column = divmod(bit, self.across)
            pattern |= dots[row :: self.down, column :: self.across].astype(np.intp) << bit
        return pattern


def _table(codes: Iterable[int]) -> Codes:
    return np.array([0, *codes], dtype=np.uint32)


_DOTS = (0x01, 0x08, 0x02, 0x10, 0x04, 0x20, 0x40, 0x80)
"""Braille dots row by row: Unicode numbers them by column with the fourth row last."""
_PATTERNS = (0x2800 + sum(dot for bit, dot in enumerate(_DOTS) if pattern >> bit & 1) for pattern in range(1, 256))
BRAILLE = GlyphSet(2, 4, _table(_PATTERNS))
QUADRANTS = GlyphSet(2, 2, _table(map(ord, "▘▝▀▖▌▞▛▗▚▐▜▄▙▟█")))
HALVES = GlyphSet(1, 2, _table(map(ord, "▀▄█")))
GLYPH_SETS = {"braille": BRAILLE, "quadrants": QUADRANTS, "halves": HALVES}


def fill_rows(top: Floats, bottom: Floats, rows: int) -> Flags:
    """Fill the rows from top to bottom (0 is the uppermost) in each column; NaN fills nothing."""
    row = np.arange(rows)[:, None]
    first, last = (np.rint(np.clip(edge, 0, rows - 1)) for edge in (top, bottom))
    filled: Flags = (row >= first) & (row <= last) & (bottom >= -0.5) & (top <= rows - 0.5)
    return filled


def glyphs_for(environ: Mapping[str, str], encoding: str | None = None) -> GlyphSet:
    """Choose glyphs for a terminal and its output encoding; CLARINET_GLYPHS=braille|quadrants|halves overrides this."""
    requested = GLYPH_SETS.get(environ.get("CLARINET_GLYPHS", ""))
    if requested:
        return requested
    # The fonts of these consoles have half blocks but no Braille.
    if environ.get("TERM", "") in ("linux", "vt100", "vt220") or "utf" not in (encoding or "utf").lower():
        return HALVES
    locale = next((environ[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if environ.get(name)), "utf8").lower()
    return BRAILLE if "utf-8" in locale or "utf8" in locale else QUADRANTS


SPACE = ord(" ")
TINT = 1000
"""The style number of a span with a tinted background is its style + TINT * (colour index + 1)."""
STYLES = ("plain", "axis", "label", "grid", "zero", "reference", "mark", "alarm", "crosshair", "pointer")
"""Names of the fixed style numbers; three for each colour follow."""
PLAIN, AXIS, LABEL, GRID, ZERO, REFERENCE, MARK, ALARM, CROSSHAIR, POINTER = range(len(STYLES))


def line_style(colour_index: int) -> int:
    return POINTER + 1 + 3 * colour_index


def faint_style(colour_index: int | None) -> int:
    """The style of raw values behind smoothed ones, and of what is behind the lines; grey without a colour."""
    return REFERENCE if colour_index is None else POINTER + 2 + 3 * colour_index


def band_style(colour_index: int | None) -> int:
    return REFERENCE if colour_index is None else POINTER + 3 + 3 * colour_index


class CellGrid:
    """Characters and style numbers; drawing outside the grid is clipped."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = max(width, 0), max(height, 0)
        self.codes: Codes = np.full((self.height, self.width), SPACE, dtype=np.uint32)
        self.styles = np.zeros((self.height, self.width), dtype=np.int16)
        self.tints = np.zeros((self.height, self.width), dtype=np.int16)
        """The colour index that tints a cell's background, plus one; 0 for none."""

    def write(self, row: int, column: int, text: str, style: int) -> None:
        """Write text of single-width characters."""
        if not 0 <= row < self.height or column >= self.width or column + len(text) <= 0:
            return
        text = text[max(0, -column) : self.width - column]
        column = max(0, column)
        self.codes[row, column : column + len(text)] = np.frombuffer(text.encode("utf-32-le"), dtype="<u4")
        self.styles[row, column : column + len(text)] = style

    def overlay(self, column: int, codes: Codes, styles: NDArray[np.int16]) -> None:
        """Draw a block of characters at the top; 0 is transparent."""
        area = slice(codes.shape[0]), slice(column, column + codes.shape[1])
        opaque = codes > 0
        np.copyto(self.codes[area], codes, where=opaque)
        np.copyto(self.styles[area], styles, where=opaque)

    def tint(self, column: int, cells: Flags, colour_index: int) -> None:
        area = self.tints[: cells.shape[0], column : column + cells.shape[1]]
        np.copyto(area, np.int16(colour_index + 1), where=cells)

    def scatter(self, rows: Indices, columns: Indices, character: str, style: int) -> None:
        self.codes[rows, columns] = ord(character)
        self.styles[rows, columns] = style

    def text(self) -> list[str]:
        return [self.codes[row].tobytes().decode("utf-32-le") for row in range(self.height)]

    def spans(self) -> Iterator[list[tuple[str, int]]]:
        """Yield the spans of equal style in each row; a blank extends the span before it."""
        columns = np.where((self.codes != SPACE) | (self.styles == POINTER), np.arange(self.width), 0)
        last_drawn = np.maximum.accumulate(columns, axis=1) if self.width else columns
        styles = np.take_along_axis(self.styles, last_drawn, axis=1)
        styles = np.where(styles == POINTER, self.styles, styles).astype(np.intp) + TINT * self.tints
        for text, row in zip(self.text(), styles, strict=True):
            cuts = [0, *(np.flatnonzero(row[1:] != row[:-1]) + 1).tolist(), self.width]
            yield [(text[a:b], int(row[a])) for a, b in pairwise(cuts) if b > a]
