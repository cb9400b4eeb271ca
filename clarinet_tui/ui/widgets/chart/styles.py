"""The numbers of a picture's styles as colours of the terminal, from the widget's component classes and the palette."""

from rich.style import Style
from textual.color import Color, ColorParseError
from textual.theme import Theme
from textual.widget import Widget

from clarinet_tui.ui.widgets.chart import palette
from clarinet_tui.ui.widgets.chart.field import AXIS, CROSSHAIR, GRID, LABEL, MARK, PLAIN, POINTER, ZERO, faint, solid
from clarinet_tui.ui.widgets.chart.legend import TITLE
from clarinet_tui.ui.widgets.chart.series import Line

NAMES = {
    TITLE: "chart--title",
    AXIS: "chart--axis",
    LABEL: "chart--label",
    GRID: "chart--grid",
    ZERO: "chart--zero",
    MARK: "chart--mark",
    CROSSHAIR: "chart--crosshair",
    POINTER: "chart--pointer",
}
COMPONENTS = set(NAMES.values())
FAINT = 0.62
"""How far raw values behind a smoothed line fade into the background."""
Styles = dict[int, Style]


def make_styles(widget: Widget, lines: tuple[Line, ...]) -> Styles:
    """A style for each number that the picture of these lines can use."""
    styles: Styles = {number: widget.get_component_rich_style(name) for number, name in NAMES.items()}
    styles[PLAIN] = widget.rich_style
    background = widget.background_colors[1]
    colours = palette_of(widget.app.current_theme)
    for place, line in enumerate(lines):
        slot = place if line.slot is None else line.slot
        colour = _parse(line.colour) or Color.parse(palette.colour(slot, colours))
        styles[solid(slot)] = _style(colour, background)
        styles[faint(slot)] = _style(colour.blend(background, FAINT), background)
    return styles


def palette_of(theme: Theme) -> str:
    """The name of the palette that fits the theme."""
    return theme.variables.get("chart-palette") or ("dark" if theme.dark else "light")


def _style(colour: Color, background: Color) -> Style:
    return Style.from_color(colour.rich_color, background.rich_color)


def _parse(text: str | None) -> Color | None:
    try:
        return Color.parse(text) if text else None
    except ColorParseError:
        return None
