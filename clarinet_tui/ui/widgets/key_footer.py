"""The last row: the keys of the view, as many as there is room for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from clarinet_tui.ui.error_guard import GuardedHandlers, guard_render_line

if TYPE_CHECKING:
    from textual.binding import ActiveBinding
    from textual.screen import Screen

KEPT_ACTION = "help"
"""Help lists every key, so that none is lost."""
DROPPED_FIRST = (
    "leave",
    "copy_command",
    "note",
    "tag",
    "remove",
    "clone",
    "sort",
    "pane(1)",
    "resume",
    "app.view('history')",
)
"""Actions whose keys go first where there is too little room."""
PADDING = 3
"""Columns around a key and its word."""
EDGE = "▏"


@dataclass(frozen=True)
class FooterKey:
    """A key that the view offers: how it is called, shown and explained, and whether it does something now."""

    key: str
    display: str
    description: str
    action: str
    enabled: bool = True
    tooltip: str = ""

    @property
    def width(self) -> int:
        return cell_len(self.display) + cell_len(self.description) + PADDING


class KeyFooter(GuardedHandlers, Widget):
    """Leaves out what does not fit, instead of cutting it off; a click presses the key.

    Textual's own has a widget for each key: to style and lay them out was much of the first paint.
    """

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {"footer--key", "footer--word", "footer--edge"}
    DEFAULT_CSS = """
    KeyFooter { dock: bottom; height: 1; color: $footer-foreground; background: $footer-background; }
    KeyFooter > .footer--key {
        color: $footer-key-foreground; background: $footer-key-background; text-style: bold;
    }
    KeyFooter > .footer--word { color: $footer-description-foreground; background: $footer-description-background; }
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
        """Takes the keys of the view as they are now; the same keys are not painted again."""
        bound, palette = self.screen.active_bindings, self.app.COMMAND_PALETTE_BINDING
        keys: dict[str, FooterKey] = {}
        for one in bound.values():
            if one.binding.show:
                keys.setdefault(one.binding.action, self._key(one))
        self.keys = tuple(keys.values())
        self.palette = self._key(bound[palette]) if palette in bound else None

    def _key(self, one: ActiveBinding) -> FooterKey:
        shown, word = self.app.get_key_display(one.binding), one.binding.description
        return FooterKey(one.binding.key, shown, word, one.binding.action, one.enabled, one.tooltip)

    @guard_render_line
    def render_line(self, y: int) -> Strip:
        key, word, edge = (self.get_component_rich_style(f"footer--{part}") for part in ("key", "word", "edge"))
        blank = self.rich_style.background_style
        segments = []
        for one in self._visible_keys():
            dim = Style(dim=not one.enabled or None)
            segments += [Segment(f" {one.display} ", key + dim), Segment(f"{one.description} ", word + dim)]
        strip = Strip(segments)
        if not self.palette:
            return strip.adjust_cell_length(self.size.width, blank)
        last = [Segment(EDGE, edge), Segment(self.palette.display, key), Segment(f" {self.palette.description}", word)]
        strip = strip.adjust_cell_length(self._keys_width, blank)
        return Strip([*strip, *last, Segment(" ", blank)])

    @property
    def _keys_width(self) -> int:
        """Columns for keys; the palette's is at the other end."""
        return self.size.width - (self.palette.width if self.palette else 0)

    def _visible_keys(self) -> Sequence[FooterKey]:
        return fit_keys(self.keys, self._keys_width)

    def _key_at(self, x: int) -> FooterKey | None:
        """The key at a column."""
        if x >= self._keys_width:
            return self.palette
        end = 0
        for key in self._visible_keys():
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
    """The keys that fit; those that are seldom needed go first, then the last ones."""
    leaving = [key for action in DROPPED_FIRST for key in keys if key.action == action]
    leaving += [key for key in reversed(keys) if key not in leaving and key.action != KEPT_ACTION]
    room = width - sum(key.width for key in keys)
    gone = []
    for key in leaving:
        if room >= 0:
            break
        gone.append(key)
        room += key.width
    return [key for key in keys if key not in gone]
