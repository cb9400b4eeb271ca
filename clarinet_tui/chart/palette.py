"""Colours for any colour vision (after Okabe and Ito) and markers, the same in charts, figures and reports."""

PALETTES = {
    "dark": ("#56B4E9", "#E69F00", "#2FCB7E", "#CC79A7", "#F0E442", "#F0624D", "#8587FF", "#BBBBBB"),
    "light": ("#0072B2", "#C8460A", "#0B6B45", "#9A3F78", "#6B7A15", "#5A1E06", "#4440D0", "#333333"),
    "contrast": ("#66CCFF", "#FFB000", "#4DFF9E", "#F7B3C8", "#FFF04D", "#FF8A70", "#BC8CFF", "#FFFFFF"),
}
"""A theme names its palette in the variable `chart-palette`; the default depends on whether it is dark or light."""
MARKERS = "●■◆○□◇▲△▼"
"""One more than colours, so that a ninth line has the first one's colour but another marker."""


def colour(index: int, palette: str) -> str:
    colours = PALETTES.get(palette, PALETTES["dark"])
    return colours[index % len(colours)]


def marker(index: int) -> str:
    return MARKERS[index % len(MARKERS)]
