"""The last row: the keys of the view, as many as there is room for."""

from __future__ import annotations

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Footer
from textual.widgets._footer import FooterKey

ALWAYS = "help"
"""Help lists every key, so that none is lost."""
SELDOM = ("leave", "copy_command", "note", "tag", "remove", "clone", "sort", "pane(1)", "resume", "app.view('history')")
"""Actions whose keys go first where there is too little room."""
PADDING, PALETTE = 3, 12
"""Columns around a key and its word, and those of the palette's."""


class KeyFooter(Footer):
    """Leaves out what does not fit, instead of cutting it off; made anew only when other keys are to be shown."""

    _drawn: object = None

    def bindings_changed(self, screen: Screen[object]) -> None:
        """Called whenever the focus moves, which mostly leaves the keys as they are."""
        if not self._bindings_ready or offered(screen) != self._drawn:
            super().bindings_changed(screen)

    def compose(self) -> ComposeResult:
        self._drawn = offered(self.screen) if self._bindings_ready else None
        yield from fitting(list(super().compose()), self.screen.size.width - PALETTE)

    def on_resize(self) -> None:
        self.refresh(recompose=True)


def offered(screen: Screen[object]) -> object:
    """The keys that the screen has now, and whether they can be pressed."""
    return [
        (binding, enabled, tooltip) for _, binding, enabled, tooltip in screen.active_bindings.values() if binding.show
    ]


def fitting(keys: list[Widget], width: int) -> list[Widget]:
    """The keys that fit; those that are seldom needed go first, then the last ones."""
    named = [key for key in keys if isinstance(key, FooterKey) and not key.has_class("-command-palette")]
    leaving = [key for action in SELDOM for key in named if key.action == action]
    leaving += [key for key in reversed(named) if key not in leaving and key.action != ALWAYS]
    room = width - sum(map(_width, named))
    gone = []
    for key in leaving:
        if room >= 0:
            break
        gone.append(key)
        room += _width(key)
    return [key for key in keys if key not in gone]


def _width(key: FooterKey) -> int:
    return cell_len(key.key_display) + cell_len(key.description) + PADDING
