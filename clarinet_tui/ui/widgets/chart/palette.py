"""Colours that people with any colour vision can tell apart (Okabe and Ito), and markers that need no colour at all."""

DARK = ("#56B4E9", "#E69F00", "#2FBF93", "#CC79A7", "#F0E442", "#E8743B", "#8FA8FF", "#BBBBBB")
LIGHT = ("#0072B2", "#C2550A", "#00795A", "#A3527F", "#8A6D00", "#2C7FB0", "#4B57B8", "#333333")
MARKERS = "●■◆○□◇▲△"


def colour(slot: int, *, dark: bool) -> str:
    palette = DARK if dark else LIGHT
    return palette[slot % len(palette)]


def marker(slot: int) -> str:
    return MARKERS[slot % len(MARKERS)]
