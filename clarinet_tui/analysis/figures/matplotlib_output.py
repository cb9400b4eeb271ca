"""Renders a figure as PNG, SVG or PDF with matplotlib. Equal figures give equal bytes."""

import io
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clarinet_tui.analysis.choices import Format
from clarinet_tui.analysis.figures.figure import (
    AnyPanel,
    ConfusionMatrix,
    Figure,
    FigureCurve,
    HeatMap,
    Panel,
    PointCloud,
)
from clarinet_tui.chart.palette import PALETTES, marker
from clarinet_tui.text import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Sheet


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


METADATA: dict[Format, dict[str, Any]] = {
    "png": {"Software": "clarinet"},
    "svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    "pdf": {"CreationDate": None, "Creator": "clarinet", "Producer": "clarinet"},
}
DPI = 200
"""Of PNG files."""
MINIMUM_PANEL = 2.2
"""Inches."""
NUMBERED = 12
"""Maximum number of classes for which cells of a matrix show their value."""
MARKERS_PER_CURVE = 8


def render_figure(
    figure: Figure,
    format: Format,  # noqa: A002
    *,
    width: float = PAGE,
    theme: Theme = PRINT,
    salt: str = "clarinet",
    real_text: bool = False,
) -> bytes:
    """Render the figure; `width` is in inches, and `real_text` keeps text of an SVG searchable."""
    import matplotlib
    from matplotlib.figure import Figure as Sheet

    columns = max(1, min(figure.columns, int(width // MINIMUM_PANEL), len(figure.panels)))
    rows, panel_width = -(-len(figure.panels) // columns), width / columns
    if any(isinstance(panel, ConfusionMatrix | HeatMap | PointCloud) for panel in figure.panels):
        height = rows * (panel_width * 1.05 + 0.25)  # square
    else:
        height = rows * max(1.5, panel_width * 0.72) + 0.35  # with a legend below
    with matplotlib.rc_context(), warnings.catch_warnings():
        # A character that the font lacks is drawn as a box.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(settings(theme, salt))
        matplotlib.rcParams["svg.fonttype"] = "none" if real_text else "path"
        sheet = Sheet(figsize=(width, height), layout="constrained")
        axes = sheet.subplots(rows, columns, squeeze=False).flatten().tolist()
        for panel, ax in zip(figure.panels, axes, strict=False):
            ax.set_title(printable(panel.title), loc="left")
            if isinstance(panel, ConfusionMatrix):
                texts = [[f"{share * 100:.0f}" for share in row] for row in panel.shares]
                _matrix(ax, panel.shares, texts, panel.classes, panel.classes, theme)
                ax.set(aspect="equal", xlabel="predicted", ylabel="true")
            elif isinstance(panel, HeatMap):
                means = [["" if mean is None else f"{mean:.1f}" for mean in row] for row in panel.means]
                _matrix(ax, panel.shares, means, panel.rows, panel.columns, theme)
                ax.set(xlabel=panel.x_name, ylabel=panel.y_name)
            elif isinstance(panel, PointCloud):
                _points(ax, panel, theme)
            else:
                ax.set(xlabel=panel.x_name, ylabel=panel.y_name)
                ax.grid(axis="y")
                for index, curve in enumerate(panel.curves):
                    _curve(ax, panel, curve, index, theme)
                ax.margins(x=0.02)
                if panel.x_ticks:
                    ax.set_xticks(list(panel.x_ticks), list(panel.x_ticks.values()))
        for ax in axes[len(figure.panels) :]:
            ax.remove()
        _legend(sheet, figure.panels, theme, width)
        written = io.BytesIO()
        sheet.savefig(written, format=format, dpi=DPI, metadata=METADATA[format])
    return written.getvalue()


def _curve(ax: Any, panel: Panel, curve: FigureCurve, index: int, theme: Theme) -> None:
    colour = theme.line(curve.colour_index)
    for member in curve.members:
        points = {"marker": ".", "linestyle": "", "alpha": 0.6} if panel.has_error_bars else {"alpha": 0.25}
        ax.plot(member.x, member.mean, color=colour, linewidth=0.5, zorder=1.5, **points)
    if curve.published is not None:
        ax.axhline(curve.published, color=colour, linewidth=0.8, dashes=(4, 2.5), alpha=0.8, zorder=1.8)
    if curve.filled:
        if panel.has_error_bars:
            below, above = curve.mean - curve.low, curve.high - curve.mean
            ax.errorbar(curve.x, curve.mean, (below, above), fmt="none", ecolor=colour, elinewidth=0.8, capsize=2)
        else:
            ax.fill_between(curve.x, curve.low, curve.high, color=colour, alpha=0.16, linewidth=0, zorder=1.6)
    # Markers of different curves are at different points, so that coinciding curves can be distinguished.
    gap = 1 if panel.has_error_bars else max(1, len(curve.x) // MARKERS_PER_CURVE)
    every = (gap * (index + 1) // (len(panel.curves) + 1), gap) if gap > 1 else 1
    ax.plot(curve.x, curve.mean, color=colour, markevery=every, zorder=2.5, **marker_style(curve.colour_index, theme))


def _legend(sheet: "Sheet", panels: Sequence[AnyPanel], theme: Theme, width: float) -> None:
    """One legend for all panels."""
    from matplotlib.lines import Line2D

    # The panel with the most curves first: it has the methods in order.
    drawn = sorted((panel for panel in panels if isinstance(panel, Panel)), key=lambda panel: -len(panel.curves))
    curves = [curve for panel in drawn for curve in panel.curves]
    shown = dict.fromkeys((curve.name, curve.colour_index) for curve in curves)
    handles = [
        Line2D([], [], color=theme.line(index), label=printable(label), **marker_style(index, theme))
        for label, index in shown
    ]
    cloud = next((panel for panel in panels if isinstance(panel, PointCloud)), None)
    if cloud is not None:  # the domains, then the classes if there are few
        plain: dict[str, Any] = {"linestyle": "", "color": theme.foreground, "markersize": 4}
        handles += [Line2D([], [], marker=style["marker"], label=name, **plain) for name, style in POINT_STYLES.items()]
        names = cloud.classes if len(cloud.classes) <= NUMBERED else ()
        for index, name in enumerate(names):
            style = plain | {"color": _class_colour(index, len(names), theme)}
            handles.append(Line2D([], [], marker="s", label=printable(name)[:12], **style))
    if any(curve.published is not None for curve in curves):
        handles.append(Line2D([], [], color=theme.foreground, linewidth=0.8, dashes=(4, 2.5), label="published"))
    if handles:
        sheet.legend(handles=handles, loc="outside lower center", ncols=max(1, int(width // 1.15)))


def _matrix(
    ax: Any,
    shares: Sequence[Sequence[float]],
    texts: Sequence[Sequence[str]],
    rows: Sequence[str],
    columns: Sequence[str],
    theme: Theme,
) -> None:
    """Draw rectangles with the share as opacity, which suit any size and background."""
    from matplotlib.patches import Rectangle

    ax.set(xlim=(0, len(columns)), ylim=(len(rows), 0))
    for row, of_row in enumerate(shares):
        for column, share in enumerate(of_row):
            if share >= 0.005:
                ax.add_patch(Rectangle((column, row), 1, 1, facecolor=theme.line(0), alpha=share, linewidth=0))
                if len(columns) <= NUMBERED:
                    style = {"fontsize": 6, "color": theme.background if share > 0.55 else theme.foreground}
                    ax.text(column + 0.5, row + 0.52, texts[row][column], ha="center", va="center", **style)
    for names, set_ticks, turns in ((columns, ax.set_xticks, True), (rows, ax.set_yticks, False)):
        every = max(1, -(-len(names) // 20))
        shown = [printable(name)[:10] for name in names][::every]
        rotation = 90 if turns and max(map(len, shown)) > 2 else 0
        set_ticks([index + 0.5 for index in range(0, len(names), every)], shown, rotation=rotation)
    ax.tick_params(length=0)
    for side in ("top", "right"):
        ax.spines[side].set_visible(True)


POINT_STYLES: dict[str, dict[str, Any]] = {
    "source": {"marker": "o", "alpha": 0.45, "linewidths": 0},
    "target": {"marker": "x", "alpha": 0.9, "linewidths": 0.7},
}


def _points(ax: Any, cloud: PointCloud, theme: Theme) -> None:
    """Draw circles for the source and crosses for the target; grey where the class is unknown."""
    ax.set(xticks=[], yticks=[])
    for name, points, labels in (("source", cloud.source, cloud.source_y), ("target", cloud.target, cloud.target_y)):
        for label in sorted(set(labels.tolist())):
            colour = _class_colour(label, len(cloud.classes), theme)
            chosen = points[labels == label]
            ax.scatter(chosen[:, 0], chosen[:, 1], s=9, color=colour, rasterized=True, **POINT_STYLES[name])


def _class_colour(label: int, count: int, theme: Theme) -> Any:
    """Return a line's colour, or one of ten or twenty if there are more classes; grey if it is unknown."""
    import matplotlib

    if label < 0:
        return theme.faint
    if count <= len(theme.lines):
        return theme.line(label)
    name, size = ("tab10", 10) if count <= 10 else ("tab20", 20)
    return matplotlib.colormaps[name](label % size)
