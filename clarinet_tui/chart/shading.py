"""Bands and levels as characters: sparse dots that no line could be taken for, and a dashed rule with its label."""

import numpy as np

from clarinet_tui.chart.axes import Axes
from clarinet_tui.chart.cells import GHOST, Field, shade
from clarinet_tui.chart.columns import extremes
from clarinet_tui.chart.glyphs import BRAILLE, Glyphs, ink
from clarinet_tui.chart.references import Band, Level
from clarinet_tui.chart.series import Flags, Floats
from clarinet_tui.text import printable

SHADE = "░"
"""A band where there are no small dots; also its sign in the legend."""
DASH = "╍"


def draw_levels(canvas: Field, axes: Axes, levels: list[Level]) -> None:
    """Lines and bands may cover them."""
    for level in levels:
        height = axes.scale.height(level.value)
        row = axes.cell_rows(np.array([height]))[0] if np.isfinite(height) else -1
        if not 0 <= row < axes.height:
            continue
        label = f" {printable(level.label)} " if level.label else ""
        rule = (DASH + label)[: axes.width]
        canvas.put(axes.top + int(row), axes.left, rule + DASH * (axes.width - len(rule)), GHOST)


def draw_bands(canvas: Field, axes: Axes, bands: list[Band], glyphs: Glyphs) -> None:
    """The first lies on top; where two meet, the dots of both are seen, in the colour of the first."""
    patterns = np.zeros((axes.height, axes.width), dtype=np.intp)
    styles = np.zeros((axes.height, axes.width), dtype=np.int16)
    for place, band in reversed(list(enumerate(bands))):
        top, bottom = _edges(band, axes, glyphs)
        filled = ink(top, bottom, axes.height * glyphs.down)
        if band.slot is not None:
            canvas.tint(axes.top, axes.left, _covered(filled, glyphs), band.slot)
        one = glyphs.patterns(_sparse(filled, place) if glyphs is BRAILLE else filled)
        patterns |= one
        np.copyto(styles, np.int16(GHOST if band.slot is None else shade(band.slot)), where=one > 0)
    codes = glyphs.table[patterns] if glyphs is BRAILLE else np.where(patterns > 0, np.uint32(ord(SHADE)), np.uint32(0))
    canvas.overlay(axes.top, axes.left, codes, styles)


def _edges(band: Band, axes: Axes, glyphs: Glyphs) -> tuple[Floats, Floats]:
    """Rows of dots for each column of dots; what the scale cannot show ends at the lower edge."""
    count = axes.width * glyphs.across
    low, high = map(axes.scale.heights, extremes(band.x, band.low, band.high, axes.window, count))
    return axes.dot_rows(high), axes.dot_rows(np.maximum(low, axes.low))


def _covered(filled: Flags, glyphs: Glyphs) -> Flags:
    """The cells of which the band fills more than half: there the ground is tinted, too."""
    rows, columns = filled.shape[0] // glyphs.down, filled.shape[1] // glyphs.across
    share = filled.reshape(rows, glyphs.down, columns, glyphs.across).mean(axis=(1, 3))
    covered: Flags = share > 0.5
    return covered


def _sparse(filled: Flags, place: int) -> Flags:
    """One dot in eight, each band with dots of its own, and a dotted edge."""
    rows, columns = (np.arange(size) for size in filled.shape)
    texture = ((rows[:, None] + 2 * (columns[None, :] // 2 % 2) + 2 * place) % 4 == 0) & (columns % 2 == place % 2)
    above, below = np.zeros_like(filled), np.zeros_like(filled)
    above[1:], below[:-1] = filled[:-1], filled[1:]
    edge = ~(above & below) & (columns % 2 == place % 2)
    sparse: Flags = filled & (texture | edge)
    return sparse
