"""Colours that people with any colour vision can tell apart (Okabe and Ito), and markers that need no colour at all."""

PALETTES = {
    "dark": ("#56B4E9", "#E69F00", "#2FCB7E", "#CC79A7", "#F0E442", "#F0624D", "#8587FF", "#BBBBBB"),
    "light": ("#0072B2", "#C8460A", "#0B6B45", "#9A3F78", "#6B7A15", "#5A1E06", "#4440D0", "#333333"),
    "contrast": ("#66CCFF", "#FFB000", "#4DFF9E", "#F7B3C8", "#FFF04D", "#FF8A70", "#BC8CFF", "#FFFFFF"),
}
"""A theme says in its variable `chart-palette` which one it has; without one, it is the dark or the light one."""
MARKERS = "●■◆○□◇▲△"


def colour(slot: int, palette: str) -> str:
    colours = PALETTES.get(palette, PALETTES["dark"])
    return colours[slot % len(colours)]


def marker(slot: int) -> str:
    return MARKERS[slot % len(MARKERS)]
