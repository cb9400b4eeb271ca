"""Converts dots to characters: Braille has 2×4 dots per cell, quadrants 2×2, half blocks 1×2."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clarinet_tui.chart.series import Flags, Floats, Indices

Codes = NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class GlyphSet:
    """Dots per cell, and the character of each pattern (first dot = bit 0, row by row; the empty pattern is 0)."""

    name: str
    across: int
    down: int
    table: Codes

    def patterns(self, dots: Flags) -> Indices:
        """Return the dots of each cell as bits; `|` combines the patterns of two lines."""
        rows, columns = dots.shape[0] // self.down, dots.shape[1] // self.across
        grouped = dots.reshape(rows, self.down, columns, self.across)
        pattern = np.zeros((rows, columns), dtype=np.intp)
        for row in range(self.down):
            for column in range(self.across):
                pattern |= grouped[:, row, :, column].astype(np.intp) << (row * self.across + column)
        return pattern


def _braille() -> Codes:
    """Unicode numbers Braille dots by column with the fourth row last; patterns here go row by row."""
    bits = (0x01, 0x08, 0x02, 0x10, 0x04, 0x20, 0x40, 0x80)
    codes = [
        0x2800 + sum(bit for position, bit in enumerate(bits) if pattern >> position & 1) for pattern in range(256)
    ]
    return np.array([0, *codes[1:]], dtype=np.uint32)


def _characters(text: str) -> Codes:
    return np.array([0, *map(ord, text)], dtype=np.uint32)


BRAILLE = GlyphSet("braille", 2, 4, _braille())
QUADRANTS = GlyphSet("quadrants", 2, 2, _characters("▘▝▀▖▌▞▛▗▚▐▜▄▙▟█"))
HALVES = GlyphSet("halves", 1, 2, _characters("▀▄█"))
GLYPH_SETS = {glyphs.name: glyphs for glyphs in (BRAILLE, QUADRANTS, HALVES)}


def fill_rows(top: Floats, bottom: Floats, rows: int) -> Flags:
    """Fill the rows from top to bottom (0 is the uppermost) in each column; NaN fills nothing."""
    empty = np.isnan(top) | np.isnan(bottom) | (bottom < -0.5) | (top > rows - 0.5)
    first = np.where(empty, rows, np.rint(np.clip(np.nan_to_num(top), 0, rows - 1))).astype(np.int32)
    last = np.where(empty, -1, np.rint(np.clip(np.nan_to_num(bottom), 0, rows - 1))).astype(np.int32)
    row = np.arange(rows, dtype=np.int32)[:, None]
    return (row >= first) & (row <= last)


CONSOLES = ("linux", "vt100", "vt220")
"""Terminals whose fonts have half blocks but no Braille."""


def glyphs_for(environ: Mapping[str, str], encoding: str | None = None) -> GlyphSet:
    """Choose glyphs for a terminal and its output encoding; CLARINET_GLYPHS=braille|quadrants|halves overrides this."""
    requested = GLYPH_SETS.get(environ.get("CLARINET_GLYPHS", ""))
    if requested:
        return requested
    if environ.get("TERM", "") in CONSOLES or "utf" not in (encoding or "utf").lower():
        return HALVES
    locale = next((environ[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if environ.get(name)), "utf8").lower()
    return BRAILLE if "utf-8" in locale or "utf8" in locale else QUADRANTS
