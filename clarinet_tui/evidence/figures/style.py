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
    """Colours of a figure; `paper` is the background."""

    ink: str
    faint: str
    paper: str
    lines: tuple[str, ...]

    def line(self, index: int) -> str:
        return self.lines[index % len(self.lines)]


PRINT = Theme(ink="#222222", faint="#b8b8b8", paper="#ffffff", lines=PALETTES["light"])
DARK = Theme(ink="#e6e6e6", faint="#555b66", paper="#15181d", lines=PALETTES["dark"])


def marker_style(index: int, theme: Theme) -> dict[str, Any]:
    """Return the matplotlib arguments of the palette's marker."""
    symbol = marker(index)
    hollow = {"markerfacecolor": theme.paper} if symbol in HOLLOW else {}
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
        "axes.edgecolor": theme.ink,
        "axes.labelcolor": theme.ink,
        "axes.facecolor": "none",
        "figure.facecolor": theme.paper,
        "savefig.facecolor": theme.paper,
        "text.color": theme.ink,
        "text.parse_math": False,
        "xtick.color": theme.ink,
        "ytick.color": theme.ink,
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
