"""A view from which something is asked of runs: in a thread, one after the other, and what came of it is told."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

from clarinet_tui.ui.action_result import ActionResult
from clarinet_tui.ui.screens.view_screen import ViewScreen
from core.errors import describe_error

if TYPE_CHECKING:
    from clarinet_tui.ui.actions import RunActions

Then = Callable[[ActionResult], object]
_action_lock = threading.Lock()
"""Two keys in quick succession are two acts, not a race."""


class ActionScreen(ViewScreen):
    """`work` does an act; `then` is called with its outcome when it is done, or could not be."""

    @dataclass
    class ActionDone(Message):
        """An act is done."""

        outcome: ActionResult
        then: Then | None

    @property
    def actions(self) -> RunActions:
        return self.state.actions

    def start_action(self, act: Callable[[], ActionResult], then: Then | None = None) -> None:
        def run() -> None:
            from core.errors import InputError  # not for the first paint: `core` brings all settings with it

            with _action_lock:
                try:
                    outcome = act()
                except (InputError, OSError) as error:
                    outcome = ActionResult(errors=(describe_error(error),))
            self.post_message(self.ActionDone(outcome, then))

        self.run_worker(run, thread=True, group="acts", exit_on_error=False)

    def on_action_screen_action_done(self, event: ActionDone) -> None:
        outcome = event.outcome
        if outcome.message:
            self.notify(outcome.message, timeout=6, markup=False)
        if outcome.errors:
            self.notify("\n".join(outcome.errors), severity="error", timeout=10, markup=False)
        self.state.refresh_machine()
        if event.then:
            event.then(outcome)

    def copy(self, command: str) -> None:
        """Through the terminal, so that it works over SSH; where that is forbidden, the toast can be read."""
        self.app.copy_to_clipboard(command)
        self.notify(command, title="Copied", timeout=6, markup=False)
