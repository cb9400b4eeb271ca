"""Text with roles in widgets: a static text that is repainted only if it changes, and styles for drawn lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from rich.style import Style
from textual.color import Color
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from clarinet_tui.ui.text.styled import ROLES

if TYPE_CHECKING:
    from textual.css.styles import RulesMap


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
        rules = cast("RulesMap", styles)  # as Textual itself passes them
        return not auto_width and width > 0 and content.get_height(rules, width) == height


def role_classes(prefix: str) -> set[str]:
    """The component classes of a widget that draws text with roles."""
    return {f"{prefix}--{role}" for role in ROLES}


def role_css(widget: str, prefix: str) -> str:
    """The CSS of these component classes."""
    coloured = {role: colour for role, colour in ROLES.items() if colour.startswith("$")}
    return "".join(f"{widget} > .{prefix}--{role} {{ color: {colour}; }}\n" for role, colour in coloured.items())


class RoleStyles:
    """Applies roles to the style of a line, with a cache."""

    def __init__(self, widget: Widget, prefix: str) -> None:
        self._widget, self._prefix = widget, prefix
        self._cache: dict[tuple[str, str, str], Style] = {}

    def apply(self, style: Style, role: str) -> Style:
        """Return the style in the role's colour, blended with the background if the colour is translucent."""
        if not role:
            return style
        if role == "strong":
            return style + Style(bold=True)
        key = (self._widget.app.theme, str(style.bgcolor), role)
        if key not in self._cache:
            colour = self._widget.get_component_styles(f"{self._prefix}--{role}").color
            background = Color.from_rich_color(style.bgcolor)
            self._cache[key] = Style(color=background.blend(colour.with_alpha(1.0), colour.a).rich_color)
        return style + self._cache[key]
