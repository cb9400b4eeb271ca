"""The command palette: every action of the view, and every value of a setting by name."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from textual.app import SystemCommand
from textual.binding import ActiveBinding, Binding
from textual.command import DiscoveryHit, Hit, Hits, Provider

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


class RankedCommands(Provider):
    """The commands in their own order: views and common actions first. Textual sorts them by the alphabet."""

    async def discover(self) -> Hits:
        for title, description, run, _ in self.app.get_system_commands(self.screen):
            yield DiscoveryHit(title, run, help=description)

    async def search(self, query: str) -> Hits:
        """Prefer earlier commands among those that match about as well."""
        matcher, commands = self.matcher(query), list(self.app.get_system_commands(self.screen))
        for position, (title, description, run, _) in enumerate(commands):
            if match := matcher.match(title):
                yield Hit(match * (2 - position / len(commands)), matcher.highlight(title), run, help=description)


def list_commands(app: App[None], screen: Screen[object]) -> Iterable[SystemCommand]:
    """List the views, the actions of the footer, the view's values, its other keys, and the app's appearance."""
    active = [*screen.active_bindings.values(), *_chart_bindings(screen)]
    views = [item for item in active if item.binding.action.startswith("view(")]
    common = [item for item in active if item.binding.show and item not in views]
    yield from _binding_commands(app, [*views, *common])
    for command in screen.palette_commands() if isinstance(screen, ViewScreen) else ():
        yield SystemCommand(command.title, command.description, command.run)
    yield from _binding_commands(app, [item for item in active if not item.binding.show and item not in views])
    for command in _appearance_commands(app):
        yield SystemCommand(command.title, command.description, command.run)


def _binding_commands(app: App[None], active: Iterable[ActiveBinding]) -> Iterable[SystemCommand]:
    listed: set[str] = set()
    for item in active:
        binding = item.binding
        if binding.id and binding.description and binding.id not in listed | {"app.palette"}:
            listed.add(binding.id)
            key = app.get_key_display(binding)
            run = partial(app.call_later, app.run_action, binding.action, item.node)
            title = f"View: {binding.description}" if binding.action.startswith("view(") else binding.description
            yield SystemCommand(title, f"{binding.tooltip or binding.description} ({key})", run)


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
