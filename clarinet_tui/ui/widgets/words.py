"""Text that is sent to the terminal only when it has changed: over a slow line every repeated word costs."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static


class Words(Static):
    """Say the same twice, and it is painted once."""

    def __init__(self, content: Content | str = "", *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(content, markup=False, id=id, classes=classes)
        self._said: Content | None = None

    def say(self, content: Content) -> None:
        if self._said is None or not self._said.is_same(content):
            self._said = content
            self.update(content, layout=self.styles.auto_dimensions)
