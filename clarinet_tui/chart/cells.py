"""A field of characters, each with the number of a style."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from clarinet_tui.chart.glyphs import Codes

Cells = NDArray[np.intp]
SPACE = ord(" ")
TINT = 1000
"""On a tinted ground the number of a style is so much higher, once for each slot up to that of the tint."""
PLAIN, AXIS, LABEL, GRID, ZERO, GHOST, MARK, CROSSHAIR, POINTER = range(9)
"""The fixed styles; three for each slot of the palette come after them."""


def solid(slot: int) -> int:
    """The style of a line."""
    return POINTER + 1 + 3 * slot


def faint(slot: int) -> int:
    """The style of a line that is only company: raw values behind smoothed ones, members behind their mean."""
    return POINTER + 2 + 3 * slot


def shade(slot: int) -> int:
    """The style of the band around a line."""
    return POINTER + 3 + 3 * slot


class Field:
    """Characters and styles; everything outside its edges is cut off."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = max(width, 0), max(height, 0)
        self.codes: Codes = np.full((self.height, self.width), SPACE, dtype=np.uint32)
        self.styles = np.zeros((self.height, self.width), dtype=np.int16)
        self.tints = np.zeros((self.height, self.width), dtype=np.int16)
        """The slot that tints the ground of a cell, plus one; 0 where nothing does."""

    def put(self, row: int, column: int, text: str, style: int) -> None:
        """Writes text of single-width characters."""
        if not 0 <= row < self.height or column >= self.width or column + len(text) <= 0:
            return
        text = text[max(0, -column) : self.width - column]
        column = max(0, column)
        self.codes[row, column : column + len(text)] = np.frombuffer(text.encode("utf-32-le"), dtype="<u4")
        self.styles[row, column : column + len(text)] = style

    def overlay(self, row: int, column: int, codes: Codes, styles: NDArray[np.int16]) -> None:
        """Puts a block of characters over the field; 0 lets through what was there."""
        here = slice(row, row + codes.shape[0]), slice(column, column + codes.shape[1])
        seen = codes > 0
        np.copyto(self.codes[here], codes, where=seen)
        np.copyto(self.styles[here], styles, where=seen)

    def tint(self, row: int, column: int, cells: NDArray[np.bool_], slot: int) -> None:
        here = self.tints[row : row + cells.shape[0], column : column + cells.shape[1]]
        np.copyto(here, np.int16(slot + 1), where=cells)

    def column(self, column: int, row: int, length: int, sign: str, style: int) -> None:
        """A vertical rule that leaves the lines it meets as they are, and covers bands."""
        here = slice(row, row + length), column
        styles = self.styles[here]
        free = (styles <= CROSSHAIR) | ((styles > POINTER) & ((styles - shade(0)) % 3 == 0))
        self.codes[here] = np.where(free, ord(sign), self.codes[here])
        self.styles[here] = np.where(free, style, self.styles[here])

    def scatter(self, rows: Cells, columns: Cells, sign: str, style: int) -> None:
        self.codes[rows, columns] = ord(sign)
        self.styles[rows, columns] = style

    def text(self) -> list[str]:
        return [self.codes[row].tobytes().decode("utf-32-le") for row in range(self.height)]

    def runs(self) -> list[list[tuple[str, int]]]:
        """For each row its stretches of one style; a blank takes the style before it, which makes them few."""
        places = np.where((self.codes != SPACE) | (self.styles == POINTER), np.arange(self.width), 0)
        seen = np.maximum.accumulate(places, axis=1) if self.width else places
        styles = np.take_along_axis(self.styles, seen, axis=1)
        styles = np.where(styles == POINTER, self.styles, styles).astype(np.intp) + TINT * self.tints
        rows = []
        for text, row in zip(self.text(), styles, strict=True):
            cuts = [0, *(np.flatnonzero(row[1:] != row[:-1]) + 1).tolist(), self.width]
            rows.append([(text[a:b], int(row[a])) for a, b in pairwise(cuts) if b > a])
        return rows
