"""Text with roles in widgets: a static text that is repainted only if it changes, and styles for drawn lines."""

from __future__ import annotations

from functools import lru_cache
from typing import cast

from rich.color import Color as RichColor
from rich.style import Style
from textual.color import Color
from textual.content import Content
from textual.css.styles import RulesMap
from textual.widget import Widget
from textual.widgets import Static

from clarinet_tui.ui.text.styled import ROLES


class StyledText(Static):
    """A static text; setting the same content again sends nothing to the terminal."""

    def __init__(self, content: Content | str = "", *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(content, markup=False, id=id, classes=classes)
        self._content_shown: Content | None = None

    def set_content(self, content: Content) -> None:
        if self._content_shown is None or not self._content_shown.is_same(content):
            self._content_shown = content
            self.update(content, layout=not self._keeps_height(content))

    def _keeps_height(self, content: Content) -> bool:
        """Whether the content needs as many rows as before, so that the layout stays valid."""
        styles, (width, height) = self.styles, self.content_size
        if not styles.auto_dimensions:
            return True
        auto_width = styles.width is not None and styles.width.is_auto
        rules = cast(RulesMap, styles)  # as Textual itself passes them
        return not auto_width and width > 0 and content.get_height(rules, width) == height


def role_style(widget: Widget, style: Style, role: str) -> Style:
    """Return the style in the role's colour, blended with the background if the colour is translucent."""
    if not role:
        return style
    colour = widget.app.stylesheet.parse_style(ROLES[role]).foreground
    return style + (_blend(colour, style.bgcolor) if colour else Style(bold=True))


@lru_cache(maxsize=256)
def _blend(colour: Color, background: RichColor | None) -> Style:
    return Style(color=Color.from_rich_color(background).blend(colour.with_alpha(1.0), colour.a).rich_color)
