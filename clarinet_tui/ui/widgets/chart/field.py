"""A field of characters, each with the number of a style."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from clarinet_tui.ui.widgets.chart.canvas import Codes

Cells = NDArray[np.intp]
SPACE = ord(" ")
PLAIN, AXIS, LABEL, GRID, ZERO, MARK, CROSSHAIR, POINTER = range(8)
"""The fixed styles; two for each slot of the palette come after them."""


def solid(slot: int) -> int:
    """The style of a line."""
    return POINTER + 1 + 2 * slot


def faint(slot: int) -> int:
    """The style of a line's raw values behind its smoothed ones."""
    return POINTER + 2 + 2 * slot


class Field:
    """Characters and styles; everything outside its edges is cut off."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = max(width, 0), max(height, 0)
        self.codes: Codes = np.full((self.height, self.width), SPACE, dtype=np.uint32)
        self.styles = np.zeros((self.height, self.width), dtype=np.int16)

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

    def column(self, column: int, row: int, length: int, sign: str, style: int) -> None:
        """A vertical rule that leaves the lines it meets as they are."""
        here = slice(row, row + length), column
        free = self.styles[here] <= CROSSHAIR
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
        styles = np.where(styles == POINTER, self.styles, styles)
        rows = []
        for text, row in zip(self.text(), styles, strict=True):
            cuts = [0, *(np.flatnonzero(row[1:] != row[:-1]) + 1).tolist(), self.width]
            rows.append([(text[a:b], int(row[a])) for a, b in pairwise(cuts) if b > a])
        return rows
