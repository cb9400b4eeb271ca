"""Map the chart engine's style numbers to terminal styles, from component classes and the palette."""

from rich.style import Style
from textual.color import Color, ColorParseError
from textual.theme import Theme
from textual.widget import Widget

from clarinet_tui.chart import palette
from clarinet_tui.chart.cells import (
    AXIS,
    CROSSHAIR,
    GRID,
    LABEL,
    MARK,
    PLAIN,
    POINTER,
    REFERENCE,
    TINT,
    ZERO,
    band_style,
    faint_style,
    line_style,
)
from clarinet_tui.chart.references import Band, Reference
from clarinet_tui.chart.series import Line
from clarinet_tui.ui.widgets.chart_legend import TITLE

COMPONENT_OF = {
    TITLE: "chart--title",
    AXIS: "chart--axis",
    LABEL: "chart--label",
    GRID: "chart--grid",
    REFERENCE: "chart--reference",
    ZERO: "chart--zero",
    MARK: "chart--mark",
    CROSSHAIR: "chart--crosshair",
    POINTER: "chart--pointer",
}
COMPONENTS = set(COMPONENT_OF.values())
FAINT = 0.62
"""How far raw values behind a smoothed line are blended with the background."""
SHADED = 0.45
"""How far the dots of a band are blended with the background."""
TINTED = 0.14
"""How far the background of a band is blended with its colour."""


class ChartStyles(dict[int, Style]):
    """Styles by number; those with a tinted background are made on first use."""

    backgrounds: dict[int, Style]

    def __missing__(self, number: int) -> Style:
        tint, style = divmod(number, TINT)
        self[number] = tinted = self[style] + self.backgrounds[tint - 1]
        return tinted


def make_styles(widget: Widget, lines: tuple[Line, ...], references: tuple[Reference, ...] = ()) -> ChartStyles:
    """Return a style for each number that a chart of these lines and references can use."""
    styles = ChartStyles({number: widget.get_component_rich_style(name) for number, name in COMPONENT_OF.items()})
    styles[PLAIN] = widget.rich_style
    styles.backgrounds = {}
    background = widget.background_colors[1]
    colours = theme_palette(widget.app.current_theme)
    own_colours = {
        index if line.colour_index is None else line.colour_index: line.colour for index, line in enumerate(lines)
    }
    indices = {
        reference.colour_index
        for reference in references
        if isinstance(reference, Line | Band) and reference.colour_index is not None
    }
    for index in sorted(indices | own_colours.keys()):
        colour = _parse(own_colours.get(index)) or Color.parse(palette.colour(index, colours))
        styles[line_style(index)] = _style(colour, background)
        styles[faint_style(index)] = _style(colour.blend(background, FAINT), background)
        styles.backgrounds[index] = Style(bgcolor=background.blend(colour, TINTED).rich_color)
        styles[band_style(index)] = _style(colour.blend(background, SHADED), background)
    return styles


def theme_palette(theme: Theme) -> str:
    """The name of the theme's palette."""
    return theme.variables.get("chart-palette") or ("dark" if theme.dark else "light")


def _style(colour: Color, background: Color) -> Style:
    return Style.from_color(colour.rich_color, background.rich_color)


def _parse(text: str | None) -> Color | None:
    try:
        return Color.parse(text) if text else None
    except ColorParseError:
        return None
