"""Dots to characters: 2×4 dots a cell with Braille, or one sign a cell where the terminal has no Braille."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clarinet_tui.evidence.bands import Floats

Extent = tuple[float, float]
Cell = tuple[str, int | None]
"""What stands there, and whose colour it has."""


@dataclass(frozen=True)
class Dots:
    """How many dots a cell has, across and down."""

    across: int
    down: int

    def sign(self, pattern: int) -> str:
        return chr(0x2800 + pattern) if self.across > 1 else "·"

    def bit(self, column: int, row: int) -> int:
        """Unicode numbers the upper three rows column by column, and the fourth row last."""
        return 1 << (6 + column if row == 3 else 3 * column + row) if self.across > 1 else 1


BRAILLE, SIGNS = Dots(2, 4), Dots(1, 1)


def dots_for(environ: Mapping[str, str], encoding: str | None) -> Dots:
    """The Linux console has no Braille in its font, and other encodings than UTF-8 have none at all."""
    plain = environ.get("TERM") == "linux" or "utf" not in (encoding or "").lower()
    return SIGNS if plain else BRAILLE


@dataclass
class Canvas:
    """Characters of a plot; what is drawn later lies on top."""

    width: int
    height: int
    xs: Extent
    ys: Extent
    dots: Dots = BRAILLE
    _patterns: dict[tuple[int, int], int] = field(default_factory=dict)
    _slots: dict[tuple[int, int], int] = field(default_factory=dict)
    _signs: dict[tuple[int, int], str] = field(default_factory=dict)

    def column(self, x: float) -> int:
        return self._across(x) // self.dots.across

    def row(self, y: float) -> int:
        return self._down(y) // self.dots.down

    def curve(self, x: "Floats", y: "Floats", slot: int) -> None:
        """Straight lines between neighbours; what is not finite is a gap."""
        import numpy as np

        known = np.isfinite(x) & np.isfinite(y)
        for place in range(len(x)):
            if known[place]:
                self._dot(self._across(float(x[place])), self._down(float(y[place])), slot)
            if place and known[place] and known[place - 1]:
                self._join((x[place - 1], y[place - 1]), (x[place], y[place]), slot)

    def dashes(self, y: float, slot: int) -> None:
        """A level: a dot and a gap."""
        for column in range(self.width * self.dots.across):
            if column % 4 == 0:
                self._dot(column, self._down(y), slot)

    def marks(self, x: "Floats", y: "Floats", sign: str, slot: int, place: int, lines: int) -> None:
        """Few, and at other places than those of the other lines; always at the end."""
        import numpy as np

        known = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
        gap = max(1, len(known) // 4)
        for at in {*known[gap * (place + 1) // (lines + 1) :: gap].tolist(), *known[-1:].tolist()}:
            cell = self.column(float(x[at])), self.row(float(y[at]))
            self._signs[cell], self._slots[cell] = sign, slot

    def rows(self) -> Iterator[list[Cell]]:
        for row in range(self.height):
            yield [self._cell((column, row)) for column in range(self.width)]

    def _cell(self, cell: tuple[int, int]) -> Cell:
        if cell in self._signs:
            return self._signs[cell], self._slots[cell]
        pattern = self._patterns.get(cell, 0)
        return (self.dots.sign(pattern), self._slots[cell]) if pattern else (" ", None)

    def _join(self, one: tuple[float, float], two: tuple[float, float], slot: int) -> None:
        (first, top), (last, bottom) = ((self._across(x), self._down(y)) for x, y in (one, two))
        steps = max(abs(last - first), abs(bottom - top))
        for step in range(1, steps):
            self._dot(round(first + (last - first) * step / steps), round(top + (bottom - top) * step / steps), slot)

    def _across(self, x: float) -> int:
        last = self.width * self.dots.across - 1
        return min(last, max(0, round((x - self.xs[0]) / (self.xs[1] - self.xs[0]) * last)))

    def _down(self, y: float) -> int:
        last = self.height * self.dots.down - 1
        return min(last, max(0, round((self.ys[1] - y) / (self.ys[1] - self.ys[0]) * last)))

    def _dot(self, column: int, row: int, slot: int) -> None:
        cell = column // self.dots.across, row // self.dots.down
        self._patterns[cell] = self._patterns.get(cell, 0) | self.dots.bit(
            column % self.dots.across, row % self.dots.down
        )
        self._slots[cell] = slot
