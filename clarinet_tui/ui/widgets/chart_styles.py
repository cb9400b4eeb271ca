"""Map the style numbers of `clarinet_tui.chart` to terminal styles, from component classes and the palette."""

from rich.style import Style
from textual.color import Color
from textual.theme import Theme
from textual.widget import Widget

from clarinet_tui.chart import palette
from clarinet_tui.chart.cells import (
    ALARM,
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
from clarinet_tui.chart.curve import Band, Line, Reference
from clarinet_tui.ui.widgets.chart_legend import TITLE

COMPONENT_OF = {
    TITLE: "chart--title",
    AXIS: "chart--axis",
    LABEL: "chart--label",
    GRID: "chart--grid",
    REFERENCE: "chart--reference",
    ZERO: "chart--zero",
    MARK: "chart--mark",
    ALARM: "chart--alarm",
    CROSSHAIR: "chart--crosshair",
    POINTER: "chart--pointer",
}
FAINT, SHADED, TINTED = 0.62, 0.6, 0.09
"""How far raw values and a band's dots are blended with the background, and a band's background with its colour."""


class ChartStyles(dict[int, Style]):
    """Styles by number; those with a tinted background are created on first use."""

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
    indices = {index if line.colour_index is None else line.colour_index for index, line in enumerate(lines)}
    coloured = (reference for reference in references if isinstance(reference, Line | Band))
    indices |= {reference.colour_index for reference in coloured if reference.colour_index is not None}
    for index in indices:
        colour = Color.parse(palette.colour(index, colours))
        for number, blend in ((line_style(index), 0.0), (faint_style(index), FAINT), (band_style(index), SHADED)):
            styles[number] = Style.from_color(colour.blend(background, blend).rich_color, background.rich_color)
        styles.backgrounds[index] = Style(bgcolor=background.blend(colour, TINTED).rich_color)
    return styles


def theme_palette(theme: Theme) -> str:
    """The name of the theme's palette."""
    return theme.variables.get("chart-palette") or ("dark" if theme.dark else "light")
