"""The numbers of a picture's styles as colours of the terminal, from the widget's component classes and the palette."""

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
from clarinet_tui.chart.legend import TITLE
from clarinet_tui.chart.references import Band, Reference
from clarinet_tui.chart.series import Line

COMPONENT_OF = {
    TITLE: "chart--title",
    AXIS: "chart--axis",
    LABEL: "chart--label",
    GRID: "chart--grid",
    REFERENCE: "chart--ghost",
    ZERO: "chart--zero",
    MARK: "chart--mark",
    CROSSHAIR: "chart--crosshair",
    POINTER: "chart--pointer",
}
COMPONENTS = set(COMPONENT_OF.values())
FAINT = 0.62
"""How far raw values behind a smoothed line fade into the background."""
SHADED = 0.45
"""How far the dots of a band do."""
TINTED = 0.14
"""How much of its colour a band gives to the ground."""


class Styles(dict[int, Style]):
    """Styles by their numbers; those on a tinted ground are made when they are first asked for."""

    backgrounds: dict[int, Style]

    def __missing__(self, number: int) -> Style:
        tint, style = divmod(number, TINT)
        self[number] = made = self[style] + self.backgrounds[tint - 1]
        return made


def make_styles(widget: Widget, lines: tuple[Line, ...], behind: tuple[Reference, ...] = ()) -> Styles:
    """A style for each number that the picture of these lines, and of what is behind them, can use."""
    styles = Styles({number: widget.get_component_rich_style(name) for number, name in COMPONENT_OF.items()})
    styles[PLAIN] = widget.rich_style
    styles.backgrounds = {}
    background = widget.background_colors[1]
    colours = theme_palette(widget.app.current_theme)
    given = {place if line.colour_index is None else line.colour_index: line.colour for place, line in enumerate(lines)}
    slots = {
        thing.colour_index for thing in behind if isinstance(thing, Line | Band) and thing.colour_index is not None
    }
    for slot in sorted(slots | given.keys()):
        colour = _parse(given.get(slot)) or Color.parse(palette.colour(slot, colours))
        styles[line_style(slot)] = _style(colour, background)
        styles[faint_style(slot)] = _style(colour.blend(background, FAINT), background)
        styles.backgrounds[slot] = Style(bgcolor=background.blend(colour, TINTED).rich_color)
        styles[band_style(slot)] = _style(colour.blend(background, SHADED), background)
    return styles


def theme_palette(theme: Theme) -> str:
    """The name of the palette that fits the theme."""
    return theme.variables.get("chart-palette") or ("dark" if theme.dark else "light")


def _style(colour: Color, background: Color) -> Style:
    return Style.from_color(colour.rich_color, background.rich_color)


def _parse(text: str | None) -> Color | None:
    try:
        return Color.parse(text) if text else None
    except ColorParseError:
        return None
