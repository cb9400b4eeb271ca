"""Draws bands as sparse dots, and reference lines as dashes with a label."""

import numpy as np

from clarinet_tui.chart.axes import Axes
from clarinet_tui.chart.cells import REFERENCE, CellGrid, band_style, faint_style
from clarinet_tui.chart.columns import bin_band
from clarinet_tui.chart.glyphs import BRAILLE, GlyphSet, fill_rows
from clarinet_tui.chart.references import Band, ReferenceLine
from clarinet_tui.chart.series import Flags, Floats
from clarinet_tui.text import printable

SHADE = "░"
"""A band without Braille, and its legend marker."""
DASH = "╍"


def draw_reference_lines(grid: CellGrid, axes: Axes, lines: list[ReferenceLine]) -> None:
    """Lines and bands may cover them; coloured ones are sparse, because there may be several."""
    for line in lines:
        height = axes.scale.height(line.value)
        row = axes.cell_rows(np.array([height]))[0] if np.isfinite(height) else -1
        if not 0 <= row < axes.height:
            continue
        label = f" {printable(line.label)} " if line.label else ""
        dashes = DASH if line.colour_index is None else f"{DASH}  "
        style = REFERENCE if line.colour_index is None else faint_style(line.colour_index)
        text = ((DASH + label if label else "") + dashes * axes.width)[: axes.width]
        grid.write(int(row), axes.left, text, style)


def draw_bands(grid: CellGrid, axes: Axes, bands: list[Band]) -> None:
    """The first band is on top; where two overlap, the dots of both are drawn in the colour of the first."""
    glyphs = axes.glyphs
    patterns = np.zeros((axes.height, axes.width), dtype=np.intp)
    styles = np.zeros((axes.height, axes.width), dtype=np.int16)
    for index, band in reversed(list(enumerate(bands))):
        top, bottom = _edges(band, axes)
        filled = fill_rows(top, bottom, axes.height * glyphs.down)
        if band.colour_index is not None:
            grid.tint(axes.left, _covered(filled, glyphs), band.colour_index)
        pattern = glyphs.patterns(_sparse(filled, index) if glyphs is BRAILLE else filled)
        patterns |= pattern
        styles[pattern > 0] = REFERENCE if band.colour_index is None else band_style(band.colour_index)
    codes = glyphs.table[patterns] if glyphs is BRAILLE else np.where(patterns > 0, np.uint32(ord(SHADE)), np.uint32(0))
    grid.overlay(axes.left, codes, styles)


def _edges(band: Band, axes: Axes) -> tuple[Floats, Floats]:
    """Return the dot rows of both edges; values that the scale cannot show end at the lower limit."""
    count = axes.width * axes.glyphs.across
    low, high = map(axes.scale.heights, bin_band(band.x, band.low, band.high, axes.x_range, count))
    return axes.dot_rows(high), axes.dot_rows(np.maximum(low, axes.low))


def _covered(filled: Flags, glyphs: GlyphSet) -> Flags:
    """Return the cells that the band fills by more than half, whose background is tinted."""
    rows, columns = filled.shape[0] // glyphs.down, filled.shape[1] // glyphs.across
    share = filled.reshape(rows, glyphs.down, columns, glyphs.across).mean(axis=(1, 3))
    covered: Flags = share > 0.5
    return covered


def _sparse(filled: Flags, index: int) -> Flags:
    """Keep one dot in eight, at different positions for each band, and a dotted edge."""
    rows, columns = (np.arange(size) for size in filled.shape)
    texture = ((rows[:, None] + 2 * (columns[None, :] // 2 % 2) + 2 * index) % 4 == 0) & (columns % 2 == index % 2)
    above, below = np.zeros_like(filled), np.zeros_like(filled)
    above[1:], below[:-1] = filled[:-1], filled[1:]
    edge = ~(above & below) & (columns % 2 == index % 2)
    sparse: Flags = filled & (texture | edge)
    return sparse
