"""Help and command palette: every key of the view, every value of a setting by name, and the query language."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import ClassVar

from textual.app import App, ComposeResult, SystemCommand
from textual.binding import ActiveBinding, Binding, BindingType
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen, Screen
from textual.widget import Widget
from textual.widgets import Static

from clarinet_tui.history.query_language import FIELDS
from clarinet_tui.ui.screens.view_screen import ViewScreen
from clarinet_tui.ui.text.styled import styled
from clarinet_tui.ui.themes import CONTRAST, DARK, LIGHT
from clarinet_tui.ui.widgets.top_bar import VIEWS

GROUPS = {
    **VIEWS,
    "sweep": "Sweep",
    "cells": "In the board's tables",
    "queue": "Devices and queue",
    "act": "Runs",
    "form": "In choices",
    "settings": "In the settings",
    "runs": "In the table of runs",
    "filter": "In the filter line",
    "list": "In lists",
    "log": "In the log",
    "chart": "In charts",
    "focus": "In the focused widget",
    "app": "Everywhere",
}
"""Heading of each group of keys, by the first part of a binding's id."""
INHERITED = {
    "quit": ("app.quit", "Quit; runs continue"),
    "app.focus_next": ("app.next_pane", "Next pane"),
    "app.focus_previous": ("app.previous_pane", "Previous pane"),
    "screen.copy_text": ("app.copy_text", "Copy the text selected with the mouse"),
}
"""Id and description of Textual's own bindings, by action."""
HIDDEN_ACTIONS = frozenset({"page_left", "page_right"})
"""Actions without effect: nothing is wider than the screen."""
EXAMPLES = (
    ("method:clarinet task:U->M", "both conditions"),
    ("state:failed,stopped", "one of these values"),
    ("tag:icml OR tag:draft", "either condition; parentheses group"),
    ("-preset:smoke", "not; also NOT preset:smoke"),
    ("acc>80 seed:1..5 time<2h", "numbers, ranges and durations"),
    ("epochs>10 flip:true", "settings; clarinet settings lists them"),
    ("since:2d until:today", "created between two times"),
    ("alarm:*", "any open alarm; * matches any text"),
    ('name:"two words"', "quotes keep blanks"),
    ("usps", "a word: in id, name, method, task, state, host, tags or note"),
)
"""Queries, and what they mean."""
NAME, EXAMPLE = 12, 28
"""Column widths."""
THEMES = {DARK: "dark", LIGHT: "light", CONTRAST: "high contrast"}
GLYPHS = {
    "braille": "Braille dots, the finest",
    "quadrants": "quarter blocks, for fonts without Braille",
    "halves": "half blocks, for the Linux console",
}


class HelpScreen(ModalScreen[None]):
    """A list of keys; `?`, esc and q close it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,q", "dismiss", "Close", key_display="esc", id="help.close"),
        Binding("j", "scroll('down')", "Down", id="help.down", show=False),
        Binding("k", "scroll('up')", "Up", id="help.up", show=False),
        Binding("g", "scroll('home')", "Top", id="help.top", show=False),
        Binding("G", "scroll('end')", "Bottom", id="help.bottom", show=False),
    ]

    def __init__(self, bindings: Iterable[Binding], problem: str = "") -> None:
        super().__init__()
        self._listed, self._problem = tuple(bindings), problem

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="help"):
            if self._problem:
                yield Static(styled((self._problem, "bad")), markup=False, id="help-problem")
            yield Static(format_keys(self._listed, self.app.get_key_display), markup=False)
            if any((binding.id or "").startswith("filter.") for binding in self._listed):
                yield Static(format_query_help(), markup=False, id="help-queries")

    def action_scroll(self, to: str) -> None:
        """Scroll down, up, to the home or the end, as in the table of runs."""
        getattr(self.query_one("#help"), f"scroll_{to}")()

    def on_click(self) -> None:
        self.dismiss()


def format_keys(bindings: Iterable[Binding], display: Callable[[Binding], str]) -> Content:
    """List the bindings under their headings, with all keys of an action in one line."""
    groups: dict[str, dict[str, tuple[list[str], str]]] = {group: {} for group in GROUPS}
    for binding in bindings:
        inherited = INHERITED.get(binding.action, (f"focus.{binding.action}", binding.description.capitalize()))
        name, description = (binding.id, binding.tooltip or binding.description) if binding.id else inherited
        group = name.partition(".")[0]
        if group not in groups or not description or binding.action in HIDDEN_ACTIONS:
            continue
        names, _ = groups[group].setdefault(name, ([], description))
        keys = [replace(binding, key=key.strip()) for key in binding.key.split(",")]
        for key in [binding.key_display] if binding.key_display else map(display, keys):
            if key not in names:
                names.append(key)
    lines = []
    for group, rows in groups.items():
        if rows:
            lines.append(styled((GROUPS[group], "strong")))
            lines += [styled((f"  {' '.join(keys):<16}", "live"), (text, "")) for keys, text in rows.values()]
            lines.append(styled())
    return Content("\n").join(lines[:-1])


def list_view_bindings(screen: Screen[object]) -> list[Binding]:
    """Return the active bindings, then the other bindings of the view's widgets."""
    active = [active.binding for active in screen.active_bindings.values()]
    ids = {binding.id for binding in active}
    return [*active, *(binding for binding in list_bindings(screen) if binding.id not in ids)]


def format_query_help() -> Content:
    """Format examples, then every field with the values that it takes."""
    lines = [styled(("Queries", "strong"))]
    lines += [styled((f"  {query:<{EXAMPLE}}", "live"), (meaning, "")) for query, meaning in EXAMPLES]
    lines += [styled(), styled(("Fields of a query", "strong"))]
    for name, field in FIELDS.items():
        comparable = ", also > < >= <=" if ">" in field.operators else ""
        lines.append(styled((f"  {name:<{NAME}}", "live"), (f"{field.expects}{comparable}", "")))
    return Content("\n").join(lines)


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
    if isinstance(screen, ViewScreen):
        yield from screen.palette_commands()
        yield from screen.sweep_commands()
    yield from _binding_commands(app, [item for item in active if not item.binding.show and item not in views])
    for theme, name in THEMES.items():
        run = partial(app.call_later, setattr, app, "theme", theme)
        yield SystemCommand(f"Theme: {name}", f"Use the {name} theme", run)
    for glyphs, description in GLYPHS.items():
        run = partial(app.call_later, app.run_action, f"use_glyphs('{glyphs}')")
        yield SystemCommand(f"Charts: {glyphs}", f"Draw charts with {description}", run)


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
