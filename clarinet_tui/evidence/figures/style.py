"""How figures look: colours that any colour vision tells apart, markers that need none, sizes for print."""

from dataclasses import dataclass
from typing import Any

MARKERS = ("o", "s", "D", "^", "v", "P", "X", "*", "<")
"""One more than colours, so that a ninth method has the first one's colour and another marker."""
COLUMN, PAGE = 3.3, 6.9
"""Inches: a column and both columns of a paper."""


@dataclass(frozen=True)
class Theme:
    """Colours of a figure; `paper` is what lies behind it."""

    ink: str
    faint: str
    paper: str
    lines: tuple[str, ...]

    def line(self, slot: int) -> str:
        return self.lines[slot % len(self.lines)]


PRINT = Theme(
    ink="#222222",
    faint="#b8b8b8",
    paper="#ffffff",
    lines=("#0072b2", "#c8460a", "#0b6b45", "#9a3f78", "#6b7a15", "#5a1e06", "#4440d0", "#555555"),
)
DARK = Theme(
    ink="#e6e6e6",
    faint="#555b66",
    paper="#15181d",
    lines=("#56b4e9", "#e69f00", "#2fcb7e", "#cc79a7", "#f0e442", "#f0624d", "#8587ff", "#bbbbbb"),
)
"""After Okabe and Ito, darker for white paper and with more contrast between neighbours."""


def marker(slot: int) -> str:
    return MARKERS[slot % len(MARKERS)]


def settings(theme: Theme, salt: str) -> dict[Any, Any]:
    """For matplotlib: small type, no frame, fonts in the file, and the same bytes every time."""
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
