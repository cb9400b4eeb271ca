"""The last row: as many key bindings of the view as fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import ActiveBinding
from textual.reactive import reactive
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from clarinet_tui.ui.error_guard import guard_render_line
from clarinet_tui.ui.textual_private import GuardedHandlers

DROPPED = (
    *("quit", "copy_command", "note", "tag", "remove", "clone", "sort", "pane(1)", "resume", "app.view('history')"),
    *("scale", "smooth"),
)
"""Actions whose keys are dropped first if there is too little room."""


@dataclass(frozen=True)
class FooterKey:
    """A key binding of the view."""

    key: str
    display: str
    description: str
    action: str
    enabled: bool = True
    tooltip: str = ""

    @property
    def width(self) -> int:
        return cell_len(self.display) + cell_len(self.description) + 3


class KeyFooter(GuardedHandlers, Widget):
    """Drops keys that do not fit instead of cutting them off; a click presses the key.

    Textual's footer has a widget for each key, whose styling and layout slows the first paint.
    """

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {"footer--key", "footer--description", "footer--edge"}
    DEFAULT_CSS = """
    KeyFooter { dock: bottom; height: 1; color: $footer-foreground; background: $footer-background; }
    KeyFooter > .footer--key {
        color: $footer-key-foreground; background: $footer-key-background; text-style: bold;
    }
    KeyFooter > .footer--description {
        color: $footer-description-foreground; background: $footer-description-background;
    }
    KeyFooter > .footer--edge { color: $foreground 20%; }
    """
    keys: reactive[tuple[FooterKey, ...]] = reactive(())
    palette: reactive[FooterKey | None] = reactive[FooterKey | None](None)

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._bindings_changed)

    def on_unmount(self) -> None:
        self.screen.bindings_updated_signal.unsubscribe(self)

    def _bindings_changed(self, screen: Screen[object]) -> None:
        if screen.app.app_focus and self.is_attached and screen is self.screen:
            self.call_after_refresh(self._update_keys)

    def _update_keys(self) -> None:
        """Read the active bindings; unchanged keys are not repainted."""
        bound, palette = self.screen.active_bindings, self.app.COMMAND_PALETTE_BINDING
        keys: dict[str, FooterKey] = {}
        for active in bound.values():
            if active.binding.show:
                keys.setdefault(active.binding.action, self._make_key(active))
        self.keys = tuple(keys.values())
        self.palette = self._make_key(bound[palette]) if palette in bound else None

    def _make_key(self, active: ActiveBinding) -> FooterKey:
        binding, display = active.binding, self.app.get_key_display(active.binding)
        return FooterKey(binding.key, display, binding.description, binding.action, active.enabled, active.tooltip)

    @guard_render_line
    def render_line(self, y: int) -> Strip:
        names = ("key", "description", "edge")
        key_style, text_style, edge_style = (self.get_component_rich_style(f"footer--{name}") for name in names)
        blank = self.rich_style.background_style
        segments = []
        for key in fit_keys(self.keys, self._keys_width):
            dim = Style(dim=not key.enabled or None)
            segments += [Segment(f" {key.display} ", key_style + dim), Segment(f"{key.description} ", text_style + dim)]
        strip = Strip(segments)
        if not self.palette:
            return strip.adjust_cell_length(self.size.width, blank)
        display, description = self.palette.display, f" {self.palette.description}"
        last = [Segment("▏", edge_style), Segment(display, key_style), Segment(description, text_style)]
        return Strip([*strip.adjust_cell_length(self._keys_width, blank), *last, Segment(" ", blank)])

    @property
    def _keys_width(self) -> int:
        """The columns left of the palette's key."""
        return self.size.width - (self.palette.width if self.palette else 0)

    def _key_at(self, x: int) -> FooterKey | None:
        if x >= self._keys_width:
            return self.palette
        end = 0
        for key in fit_keys(self.keys, self._keys_width):
            end += key.width
            if x < end:
                return key
        return None

    def on_mouse_move(self, event: events.MouseMove) -> None:
        key = self._key_at(event.x)
        self.tooltip = (key.tooltip or None) if key else None

    def on_mouse_down(self, event: events.MouseDown) -> None:
        key = self._key_at(event.x)
        if key and key.enabled:
            self.app.simulate_key(key.key)
        elif key:
            self.app.bell()


def fit_keys(keys: Sequence[FooterKey], width: int) -> Sequence[FooterKey]:
    """The keys that fit: first those of `DROPPED` are dropped, then the last ones, but never that of the help."""
    drop_order = [key for action in DROPPED for key in keys if key.action == action]
    drop_order += [key for key in reversed(keys) if key not in drop_order and key.action != "help"]
    kept = list(keys)
    for key in drop_order:
        if sum(key.width for key in kept) > width:
            kept.remove(key)
    return kept
