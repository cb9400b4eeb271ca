"""The app's own looks: dark, light and high contrast. Each names the palette that charts have in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter
from textual.theme import Theme

DARK, LIGHT, CONTRAST = "clarinet-dark", "clarinet-light", "clarinet-contrast"
GLYPH = "✓✗▸▹◦▪●○■□◆◇▲△▼━╸┃‖┈┊╭╮╰╯▏▁▂▃▅▆▇…†‹›⏎λ"
PLAIN = "+x>>o#o°#·**^^v=-│║·│┌┐└┘│__▄▄██.+<>¶l"
"""The replacement of each glyph above it."""


def _make_theme(
    palette: str, *, muted: str, disabled: str, variables: Mapping[str, str] | None = None, **options: Any
) -> Theme:
    """Return the theme whose charts have this palette, and whose muted and disabled text has these colours."""
    colours = {"foreground-muted": muted, "foreground-disabled": disabled, "text-disabled": disabled}
    variables = {"chart-palette": palette, **colours, **(variables or {})}
    return Theme(f"clarinet-{palette}", variables=variables, **options)


THEMES = (
    _make_theme(
        "dark",
        primary="#56B4E9",
        secondary="#9DB2FF",
        accent="#F0A830",
        success="#3CC79B",
        warning="#F0B455",
        error="#F2777A",
        foreground="#D9DFE7",
        background="#0E1116",
        surface="#161B22",
        panel="#1D242D",
        muted="#D9DFE7B0",
        disabled="#D9DFE78A",
    ),
    _make_theme(
        "light",
        primary="#00639C",
        secondary="#4B57B8",
        accent="#9A4A00",
        success="#00694E",
        warning="#8A5600",
        error="#B3261E",
        foreground="#1B2128",
        background="#FCFBF8",
        surface="#F2F0EA",
        panel="#E5E2D9",
        muted="#1B2128C4",
        disabled="#1B2128A3",
        dark=False,
    ),
    _make_theme(
        "contrast",
        primary="#66CCFF",
        secondary="#C9B8FF",
        accent="#FFD84D",
        success="#5CFFC0",
        warning="#FFD84D",
        error="#FF9E94",
        foreground="#FFFFFF",
        background="#000000",
        surface="#0A0A0A",
        panel="#1C1C1C",
        muted="#E6E6E6",
        disabled="#CCCCCC",
        text_alpha=1.0,
        variables={"footer-key-foreground": "#FFD84D"},
    ),
)


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
