"""Dots to characters: Braille has 2×4 dots a cell, quadrants 2×2, half blocks 1×2."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clarinet_tui.chart.series import Flags, Floats

Codes = NDArray[np.uint32]
Patterns = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Glyphs:
    """A way to draw dots: how many a cell has, and the character for each pattern (first dot = bit 0, row by row).

    The character of the empty pattern is 0, which lets through what lies behind.
    """

    name: str
    across: int
    down: int
    table: Codes

    def patterns(self, dots: Flags) -> Patterns:
        """The dots of each cell as bits; patterns of two lines can be laid over each other with `|`."""
        rows, columns = dots.shape[0] // self.down, dots.shape[1] // self.across
        grouped = dots.reshape(rows, self.down, columns, self.across)
        pattern = np.zeros((rows, columns), dtype=np.intp)
        for row in range(self.down):
            for column in range(self.across):
                pattern |= grouped[:, row, :, column].astype(np.intp) << (row * self.across + column)
        return pattern


def _braille() -> Codes:
    """Unicode numbers the dots column by column with the fourth row last; ours run row by row."""
    bits = (0x01, 0x08, 0x02, 0x10, 0x04, 0x20, 0x40, 0x80)
    codes = [0x2800 + sum(bit for place, bit in enumerate(bits) if pattern >> place & 1) for pattern in range(256)]
    return np.array([0, *codes[1:]], dtype=np.uint32)


def _signs(text: str) -> Codes:
    return np.array([0, *map(ord, text)], dtype=np.uint32)


BRAILLE = Glyphs("braille", 2, 4, _braille())
QUADRANTS = Glyphs("quadrants", 2, 2, _signs("▘▝▀▖▌▞▛▗▚▐▜▄▙▟█"))
HALVES = Glyphs("halves", 1, 2, _signs("▀▄█"))
GLYPHS = {glyphs.name: glyphs for glyphs in (BRAILLE, QUADRANTS, HALVES)}


def ink(top: Floats, bottom: Floats, rows: int) -> Flags:
    """The dots of one line: in each column all rows from top to bottom (0 is the highest); NaN inks nothing."""
    nothing = np.isnan(top) | np.isnan(bottom) | (bottom < -0.5) | (top > rows - 0.5)
    first = np.where(nothing, rows, np.rint(np.clip(np.nan_to_num(top), 0, rows - 1))).astype(np.int32)
    last = np.where(nothing, -1, np.rint(np.clip(np.nan_to_num(bottom), 0, rows - 1))).astype(np.int32)
    row = np.arange(rows, dtype=np.int32)[:, None]
    return (row >= first) & (row <= last)


CONSOLES = ("linux", "vt100", "vt220")
"""Terminals whose fonts have half blocks and little else."""


def glyphs_for(environ: Mapping[str, str]) -> Glyphs:
    """What the terminal can be expected to show; CLARINET_GLYPHS=braille|quadrants|halves decides if it is set."""
    asked = GLYPHS.get(environ.get("CLARINET_GLYPHS", ""))
    if asked:
        return asked
    if environ.get("TERM", "") in CONSOLES:
        return HALVES
    return BRAILLE if has_unicode(environ) else QUADRANTS


def has_unicode(environ: Mapping[str, str]) -> bool:
    """Whether the locale is one of Unicode; where none is named, terminals of today can be expected to have it."""
    named = next((environ[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if environ.get(name)), "")
    return not named or "utf-8" in named.lower() or "utf8" in named.lower()
