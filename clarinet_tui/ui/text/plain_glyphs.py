"""Replacement glyphs for consoles whose fonts have little more than letters and half blocks."""

from __future__ import annotations

from collections.abc import Mapping

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

GLYPH = "✓✗▸▹◦▪●○■□◆◇▲△▼━╸┃‖┈┊╭╮╰╯▏▁▂▃▅▆▇…†‹›⏎λ"
PLAIN = "+x>>o#o°#·**^^v=-│║·│┌┐└┘│__▄▄██.+<>¶l"
"""The replacement of each glyph above it."""


class PlainGlyphs(LineFilter):
    """Replaces glyphs that such a console shows as boxes by others of the same width."""

    _table = str.maketrans(GLYPH, PLAIN)

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            segment if segment.text.isascii() else Segment(segment.text.translate(self._table), *segment[1:])
            for segment in segments
        ]


def needs_plain_glyphs(environ: Mapping[str, str]) -> bool:
    return environ.get("TERM", "") in ("linux", "vt100", "vt220")
