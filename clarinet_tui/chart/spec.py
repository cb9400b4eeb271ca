"""The specification of a chart."""

from dataclasses import dataclass

from clarinet_tui.chart.glyphs import BRAILLE, GlyphSet
from clarinet_tui.chart.references import Reference
from clarinet_tui.chart.scales import ScaleName
from clarinet_tui.chart.series import Line, VerticalMark


@dataclass(frozen=True, eq=False)
class ChartSpec:
    """Everything that determines how a chart looks."""

    width: int
    height: int
    lines: tuple[Line, ...] = ()
    references: tuple[Reference, ...] = ()
    """Bands and lines behind the lines, the first on top; the axes cover them."""
    scale_only: tuple[Reference, ...] = ()
    """Data that is not drawn but that the axes cover."""
    marks: tuple[VerticalMark, ...] = ()
    x_range: tuple[float, float] = (0.0, 1.0)
    scale: ScaleName = "linear"
    y_range: tuple[float, float] | None = None
    smoothing: float = 0.0
    """Time constant of the smoothing as a share of the width."""
    crosshair: float | None = None
    glyphs: GlyphSet = BRAILLE
    x_name: str = ""
    x_labels: bool = True
    """Whether the x axis is drawn; charts stacked above another one omit it."""
    x_is_time: bool = False
    gutter: int = 6
    """Minimum width of the y labels, so that stacked charts align."""
