"""The command palette: every action of the view, and every choice by its own name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from textual.app import SystemCommand
from textual.binding import ActiveBinding, Binding

from clarinet_tui.ui.themes import CONTRAST, DARK, LIGHT

if TYPE_CHECKING:
    from textual.screen import Screen
    from textual.widget import Widget

    from clarinet_tui.ui.app import ClarinetApp

THEMES = {DARK: "dark", LIGHT: "light", CONTRAST: "high contrast"}
GLYPHS = {
    "braille": "Braille dots, the finest",
    "quadrants": "quarter blocks, where Braille is missing",
    "halves": "half blocks, for the Linux console",
}


class Choice(NamedTuple):
    """Something that a view can do at once, without going through the values of a key."""

    title: str
    sentence: str
    act: Callable[[], object]


def commands(app: ClarinetApp, screen: Screen[object]) -> Iterable[SystemCommand]:
    from clarinet_tui.ui.screens.view_screen import ViewScreen

    seen: set[str] = set()
    for active in (*screen.active_bindings.values(), *_of_charts(screen)):
        binding = active.binding
        if binding.id and binding.description and binding.id not in seen | {"app.palette"}:
            seen.add(binding.id)
            key = app.get_key_display(binding)
            act = partial(app.call_later, app.run_action, binding.action, active.node)
            title = f"View: {binding.description}" if binding.action.startswith("view(") else binding.description
            yield SystemCommand(title, f"{binding.tooltip or binding.description} ({key})", act)
    choices = screen.choices() if isinstance(screen, ViewScreen) else ()
    for choice in (*choices, *_looks(app)):
        yield SystemCommand(choice.title, choice.sentence, choice.act)


def _looks(app: ClarinetApp) -> Iterable[Choice]:
    for theme, name in THEMES.items():
        yield Choice(f"Look: {name}", f"Use the {name} theme", partial(app.action_use_theme, theme))
    for glyphs, sentence in GLYPHS.items():
        yield Choice(f"Charts: {glyphs}", f"Draw charts with {sentence}", partial(app.action_use_glyphs, glyphs))


def _of_charts(screen: Screen[object]) -> list[ActiveBinding]:
    """The keys of the first chart in sight, also when none has the focus."""
    from clarinet_tui.ui.widgets.chart import Chart

    charts = [chart for chart in screen.query(Chart) if chart.region.area]
    listed = (binding for binding in Chart.BINDINGS if isinstance(binding, Binding))
    return [ActiveBinding(charts[0], binding, True) for binding in listed] if charts else []


def keys_of(screen: Screen[object]) -> list[Binding]:
    """Every key of the view and of what is in it, whether it can be pressed now or not."""
    widgets: list[Widget | Screen[object]] = [screen, *screen.query("*")]
    classes = dict.fromkeys(kind for widget in widgets for kind in type(widget).__mro__ if "BINDINGS" in vars(kind))
    found = [binding for kind in classes for binding in vars(kind)["BINDINGS"]]
    return [binding for binding in found if isinstance(binding, Binding) and binding.id]
