"""Text that is sent to the terminal only when it has changed: over a slow line every repeated word costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual.content import Content
from textual.widgets import Static

if TYPE_CHECKING:
    from textual.css.styles import RulesMap


class Words(Static):
    """Say the same twice, and it is painted once."""

    def __init__(self, content: Content | str = "", *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(content, markup=False, id=id, classes=classes)
        self._said: Content | None = None

    def say(self, content: Content) -> None:
        if self._said is None or not self._said.is_same(content):
            self._said = content
            self.update(content, layout=not self._has_room_for(content))

    def _has_room_for(self, content: Content) -> bool:
        """Whether it takes as many rows as before: then nothing around it has to be laid out again."""
        styles, (width, height) = self.styles, self.content_size
        if not styles.auto_dimensions:
            return True
        auto_width = styles.width is not None and styles.width.is_auto
        rules = cast("RulesMap", styles)  # as Textual itself passes them
        return not auto_width and width > 0 and content.get_height(rules, width) == height
