"""Handles keys and pasted text one at a time: what is typed after a key that moves the focus reaches the new focus."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from textual import events
from textual.app import App
from textual.message import Message
from textual.widget import Widget

ROUNDS = 2
"""Markers sent after a key: one follows the key itself, one the messages that its action has posted."""
CHECK_SECONDS = 0.2
"""Seconds between checks that the widget with the marker still exists."""


class OrderedInput(App[None]):
    """Textual queues a key at the focused widget, so that a fast second key overtakes the action of the first.

    Here, a marker follows each key through the same queues, and the next key waits until it has returned.
    """

    @dataclass(eq=False, repr=False)
    class Handled(Message):
        """Everything that was in the queues of the focused widget and its parents is handled."""

        round: int
        target: Widget

    _marker: Handled | None = None
    """The marker on its way; None if no key is being handled."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: deque[events.Key | events.Paste] = deque()
        self._late_callback: Callable[[], object] | None = None

    @property
    def is_handling_input(self) -> bool:
        """Whether a key or a paste is being handled."""
        return self._marker is not None

    def call_after_input(self, callback: Callable[[], object]) -> None:
        """Call this when all keys that have arrived are handled; it replaces a callback that waits already."""
        self._late_callback = callback

    async def on_event(self, event: events.Event) -> None:
        if not isinstance(event, events.Key | events.Paste) or event.is_forwarded:
            await super().on_event(event)
        elif self._marker is None:
            await self._handle(event)
        else:
            self._waiting.append(event)
            if len(self._waiting) == 1:
                self.set_timer(CHECK_SECONDS, self._check_target)

    async def _handle(self, event: events.Key | events.Paste) -> None:
        target = self.focused or self.screen
        self._marker = self.Handled(1, target)
        await super().on_event(event)
        await self._send(self._marker)

    async def _send(self, marker: Handled) -> None:
        self._marker = marker
        if not marker.target.post_message(marker):  # the widget is being removed
            await self._handle_next()

    async def on_ordered_input_handled(self, marker: Handled) -> None:
        if marker is not self._marker:
            return
        target = self.focused or self.screen
        if marker.round < ROUNDS or target is not marker.target:
            await self._send(self.Handled(marker.round + 1, target))
        else:
            await self._handle_next()

    async def _handle_next(self) -> None:
        self._marker = None
        if self._waiting:
            await self._handle(self._waiting.popleft())
        elif self._late_callback:
            late, self._late_callback = self._late_callback, None
            self.call_later(late)

    async def _check_target(self) -> None:
        """Go on if the marker was lost together with the widget that had it."""
        if self._marker and not self._marker.target.is_attached:
            await self._handle_next()
        if self._waiting:
            self.set_timer(CHECK_SECONDS, self._check_target)
