"""The look of figures: themes, markers and matplotlib settings."""

from dataclasses import dataclass
from typing import Any

from clarinet_tui.chart.palette import PALETTES, marker

MATPLOTLIB_MARKERS = {"●": "o", "○": "o", "■": "s", "□": "s", "◆": "D", "◇": "D", "▲": "^", "△": "^", "▼": "v"}
HOLLOW = "○□◇△"
COLUMN, PAGE = 3.3, 6.9
"""Width of one and of two columns of a paper, in inches."""


@dataclass(frozen=True)
class Theme:
    foreground: str
    faint: str
    background: str
    lines: tuple[str, ...]

    def line(self, index: int) -> str:
        return self.lines[index % len(self.lines)]


PRINT = Theme(foreground="#222222", faint="#b8b8b8", background="#ffffff", lines=PALETTES["light"])
DARK = Theme(foreground="#e6e6e6", faint="#555b66", background="#15181d", lines=PALETTES["dark"])


def marker_style(index: int, theme: Theme) -> dict[str, Any]:
    """Return the matplotlib arguments of the palette's marker."""
    symbol = marker(index)
    hollow = {"markerfacecolor": theme.background} if symbol in HOLLOW else {}
    return {"marker": MATPLOTLIB_MARKERS[symbol], "markersize": 3, **hollow}


def settings(theme: Theme, salt: str) -> dict[Any, Any]:
    """Return matplotlib settings: small type, no frame, embedded fonts, reproducible bytes."""
    return {
        "font.family": ["DejaVu Sans"],
        "font.size": 7.5,
        "axes.titlesize": 8.5,
        "axes.labelsize": 7.5,
        "legend.fontsize": 7.5,
        "legend.frameon": False,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.linewidth": 0.6,
        "axes.axisbelow": True,
        "axes.edgecolor": theme.foreground,
        "axes.labelcolor": theme.foreground,
        "axes.facecolor": "none",
        "figure.facecolor": theme.background,
        "savefig.facecolor": theme.background,
        "text.color": theme.foreground,
        "text.parse_math": False,
        "xtick.color": theme.foreground,
        "ytick.color": theme.foreground,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        "grid.color": theme.faint,
        "grid.linewidth": 0.4,
        "lines.linewidth": 1.3,
        "lines.solid_capstyle": "round",
        "pdf.fonttype": 42,
        "svg.fonttype": "path",
        "svg.hashsalt": salt,
    }
