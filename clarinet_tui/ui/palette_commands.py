"""The command palette: every action of the view, and every value of a setting by name."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from textual.app import SystemCommand
from textual.binding import ActiveBinding, Binding

from clarinet_tui.ui.screens.view_screen import PaletteCommand, ViewScreen
from clarinet_tui.ui.themes import CONTRAST, DARK, LIGHT

if TYPE_CHECKING:
    from textual.app import App
    from textual.screen import Screen
    from textual.widget import Widget

THEMES = {DARK: "dark", LIGHT: "light", CONTRAST: "high contrast"}
GLYPHS = {
    "braille": "Braille dots, the finest",
    "quadrants": "quarter blocks, for fonts without Braille",
    "halves": "half blocks, for the Linux console",
}


def list_commands(app: App[None], screen: Screen[object]) -> Iterable[SystemCommand]:
    listed: set[str] = set()
    for active in (*screen.active_bindings.values(), *_chart_bindings(screen)):
        binding = active.binding
        if binding.id and binding.description and binding.id not in listed | {"app.palette"}:
            listed.add(binding.id)
            key = app.get_key_display(binding)
            run = partial(app.call_later, app.run_action, binding.action, active.node)
            title = f"View: {binding.description}" if binding.action.startswith("view(") else binding.description
            yield SystemCommand(title, f"{binding.tooltip or binding.description} ({key})", run)
    commands = screen.palette_commands() if isinstance(screen, ViewScreen) else ()
    for command in (*commands, *_appearance_commands(app)):
        yield SystemCommand(command.title, command.description, command.run)


def _appearance_commands(app: App[None]) -> Iterable[PaletteCommand]:
    def run(action: str) -> partial[bool]:
        return partial(app.call_later, app.run_action, action)

    for theme, name in THEMES.items():
        yield PaletteCommand(f"Theme: {name}", f"Use the {name} theme", run(f"use_theme('{theme}')"))
    for glyphs, description in GLYPHS.items():
        yield PaletteCommand(f"Charts: {glyphs}", f"Draw charts with {description}", run(f"use_glyphs('{glyphs}')"))


def _chart_bindings(screen: Screen[object]) -> list[ActiveBinding]:
    """Return the keys of the first visible chart, even if no chart has the focus."""
    from clarinet_tui.ui.widgets.chart import Chart

    charts = [chart for chart in screen.query(Chart) if chart.region.area]
    bindings = (binding for binding in Chart.BINDINGS if isinstance(binding, Binding))
    return [ActiveBinding(charts[0], binding, True) for binding in bindings] if charts else []


def list_bindings(screen: Screen[object]) -> list[Binding]:
    """Return every key binding of the view and its widgets, active or not."""
    widgets: list[Widget | Screen[object]] = [screen, *screen.query("*")]
    classes = dict.fromkeys(cls for widget in widgets for cls in type(widget).__mro__ if "BINDINGS" in vars(cls))
    bindings = [binding for cls in classes for binding in vars(cls)["BINDINGS"]]
    return [binding for binding in bindings if isinstance(binding, Binding) and binding.id]
