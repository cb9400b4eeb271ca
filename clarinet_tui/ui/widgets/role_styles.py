"""The colours of roles in widgets that draw their own lines."""

from __future__ import annotations

from rich.style import Style
from textual.color import Color
from textual.widget import Widget

from clarinet_tui.ui.snapshot.state_style import ROLES


def role_classes(prefix: str) -> set[str]:
    """The component classes that such a widget has."""
    return {f"{prefix}--{role}" for role in ROLES}


def role_rules(widget: str, prefix: str) -> str:
    """Their colours, as CSS."""
    coloured = {role: colour for role, colour in ROLES.items() if colour.startswith("$")}
    return "".join(f"{widget} > .{prefix}--{role} {{ color: {colour}; }}\n" for role, colour in coloured.items())


class RoleStyles:
    """The style of a line in the colour of a role; remembered, because a line has many pieces."""

    def __init__(self, widget: Widget, prefix: str) -> None:
        self._widget, self._prefix = widget, prefix
        self._known: dict[tuple[str, str, str], Style] = {}

    def on(self, style: Style, role: str) -> Style:
        """Colours that shine through are mixed with the line's background."""
        if not role:
            return style
        if role == "strong":
            return style + Style(bold=True)
        key = (self._widget.app.theme, str(style.bgcolor), role)
        if key not in self._known:
            colour = self._widget.get_component_styles(f"{self._prefix}--{role}").color
            ground = Color.from_rich_color(style.bgcolor)
            self._known[key] = Style(color=ground.blend(colour.with_alpha(1.0), colour.a).rich_color)
        return style + self._known[key]
