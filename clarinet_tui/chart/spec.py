"""What is asked of a chart."""

from dataclasses import dataclass

from clarinet_tui.chart.glyphs import BRAILLE, Glyphs
from clarinet_tui.chart.references import Behind
from clarinet_tui.chart.scales import ScaleName
from clarinet_tui.chart.series import Line, Mark


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything that decides how a chart looks."""

    width: int
    height: int
    lines: tuple[Line, ...] = ()
    behind: tuple[Behind, ...] = ()
    """Bands, levels and dim lines behind the lines, the first on top; they count for the height of the axes."""
    beside: tuple[Behind, ...] = ()
    """What is not drawn here but counts for the axes."""
    marks: tuple[Mark, ...] = ()
    window: tuple[float, float] = (0.0, 1.0)
    scale: ScaleName = "linear"
    y_range: tuple[float, float] | None = None
    smoothing: float = 0.0
    """How far back the smoothing reaches, as a share of the width."""
    crosshair: float | None = None
    glyphs: Glyphs = BRAILLE
    x_name: str = ""
    x_labels: bool = True
    """Whether the x axis is drawn; a chart right above another one can do without."""
    x_is_time: bool = False
    gutter: int = 6
    """The least width of the y labels, so that charts above each other line up."""
