"""A drawing as PNG, SVG or PDF, by matplotlib without a window. The same drawing gives the same bytes."""

import io
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

from clarinet_tui.evidence.figures.figure import Drawing, Line, Matrix, Panel
from clarinet_tui.evidence.figures.style import PAGE, PRINT, Theme, marker, settings
from clarinet_tui.text import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Format = Literal["png", "svg", "pdf"]
FORMATS: tuple[Format, ...] = get_args(Format)
METADATA: dict[Format, dict[str, Any]] = {
    "png": {"Software": "clarinet"},
    "svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    "pdf": {"CreationDate": None, "Creator": "clarinet", "Producer": "clarinet"},
}
DOTS = 200
"""An inch, in PNG."""
NARROWEST = 2.2
"""Inches of a panel."""
NUMBERED = 12
"""Up to so many classes each cell of a matrix has its number."""
MARKS = 8


def paint(
    drawing: Drawing,
    format: Format,  # noqa: A002
    *,
    width: float = PAGE,
    theme: Theme = PRINT,
    salt: str = "clarinet",
    real_text: bool = False,
) -> bytes:
    """`width` in inches. `real_text` leaves an SVG's letters to the reader's fonts, so that they can be searched."""
    import matplotlib
    from matplotlib.figure import Figure

    columns = max(1, min(drawing.columns, int(width // NARROWEST), len(drawing.panels)))
    rows = -(-len(drawing.panels) // columns)
    with matplotlib.rc_context(), warnings.catch_warnings():
        # A sign that the font lacks is drawn as a box; there is nothing to do about it here.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(settings(theme, salt))
        matplotlib.rcParams["svg.fonttype"] = "none" if real_text else "path"
        sheet = Figure(figsize=(width, _height(drawing, width / columns, rows)), layout="constrained")
        axes = sheet.subplots(rows, columns, squeeze=False).flatten().tolist()
        for panel, ax in zip(drawing.panels, axes, strict=False):
            _matrix(ax, panel, theme) if isinstance(panel, Matrix) else _panel(ax, panel, theme)
        for ax in axes[len(drawing.panels) :]:
            ax.remove()
        _legend(sheet, drawing.panels, theme, width)
        written = io.BytesIO()
        sheet.savefig(written, format=format, dpi=DOTS, metadata=METADATA[format])
    return written.getvalue()


def _height(drawing: Drawing, each: float, rows: int) -> float:
    """Matrices are square; below curves there is a legend."""
    if any(isinstance(panel, Matrix) for panel in drawing.panels):
        return rows * (each * 1.05 + 0.25)
    return rows * max(1.5, each * 0.72) + 0.35


def _panel(ax: Any, panel: Panel, theme: Theme) -> None:
    ax.set_title(printable(panel.title), loc="left")
    ax.set_xlabel(panel.x_name)
    ax.set_ylabel(panel.y_name)
    ax.grid(axis="y")
    for place, line in enumerate(panel.lines):
        _line(ax, panel, line, place, theme)
    ax.margins(x=0.02)


def _line(ax: Any, panel: Panel, line: Line, place: int, theme: Theme) -> None:
    colour = theme.line(line.slot)
    for x, y in line.members:
        ax.plot(x, y, color=colour, linewidth=0.5, alpha=0.25, zorder=1.5)
    if line.level is not None:
        ax.axhline(line.level, color=colour, linewidth=0.8, dashes=(4, 2.5), alpha=0.8, zorder=1.8)
    if line.low is not None and line.high is not None:
        if panel.bars:
            below, above = line.y - line.low, line.high - line.y
            ax.errorbar(line.x, line.y, (below, above), fmt="none", ecolor=colour, elinewidth=0.8, capsize=2)
        else:
            ax.fill_between(line.x, line.low, line.high, color=colour, alpha=0.16, linewidth=0, zorder=1.6)
    # Markers of different lines stand at different places, so that lines that lie on each other can be told apart.
    gap = 1 if panel.bars else max(1, len(line.x) // MARKS)
    every = (gap * (place + 1) // (len(panel.lines) + 1), gap) if gap > 1 else 1
    ax.plot(line.x, line.y, color=colour, marker=marker(line.slot), markersize=3, markevery=every, zorder=2.5)


def _legend(sheet: "Figure", panels: Sequence[Panel | Matrix], theme: Theme, width: float) -> None:
    """One for all panels: a method looks the same everywhere."""
    from matplotlib.lines import Line2D

    # The fullest panel first: it has the methods in the order of all.
    drawn = sorted((panel for panel in panels if isinstance(panel, Panel)), key=lambda panel: -len(panel.lines))
    lines = [line for panel in drawn for line in panel.lines]
    shown = {(line.label, line.slot): line for line in lines}
    handles = [
        Line2D([], [], color=theme.line(slot), marker=marker(slot), markersize=3, label=printable(label))
        for label, slot in shown
    ]
    if any(line.level is not None for line in lines):
        handles.append(Line2D([], [], color=theme.ink, linewidth=0.8, dashes=(4, 2.5), label="published"))
    if handles:
        sheet.legend(handles=handles, loc="outside lower center", ncols=max(1, int(width // 1.15)))


def _matrix(ax: Any, matrix: Matrix, theme: Theme) -> None:
    """Rectangles of one colour whose strength is the share: sharp at any size, and right on any background."""
    from matplotlib.patches import Rectangle

    count = len(matrix.classes)
    ax.set_title(printable(matrix.title), loc="left")
    ax.set(xlim=(0, count), ylim=(count, 0), aspect="equal", xlabel="predicted", ylabel="true")
    for row, shares in enumerate(matrix.shares):
        for column, share in enumerate(shares):
            if share >= 0.005:
                ax.add_patch(Rectangle((column, row), 1, 1, facecolor=theme.line(0), alpha=share, linewidth=0))
                if count <= NUMBERED:
                    colour = theme.paper if share > 0.55 else theme.ink
                    place = column + 0.5, row + 0.52
                    ax.text(*place, f"{share * 100:.0f}", ha="center", va="center", fontsize=6, color=colour)
    every = max(1, -(-count // 20))
    names = [printable(name)[:10] for name in matrix.classes][::every]
    places = [place + 0.5 for place in range(0, count, every)]
    turned = 90 if max(map(len, names)) > 2 else 0
    ax.set_xticks(places, names, rotation=turned)
    ax.set_yticks(places, names)
    ax.tick_params(length=0)
    for side in ("top", "right"):
        ax.spines[side].set_visible(True)
