"""A view from which something is asked of runs: in a thread, one after the other, and what came of it is told."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

from clarinet_tui.ui.action_result import Outcome
from clarinet_tui.ui.feed.history_feed import sentence
from clarinet_tui.ui.screens.view_screen import ViewScreen

if TYPE_CHECKING:
    from clarinet_tui.ui.actions import Acts

Then = Callable[[Outcome], object]
_in_turn = threading.Lock()
"""Two keys in quick succession are two acts, not a race."""


class WorkingScreen(ViewScreen):
    """`work` does an act; `then` is called with its outcome when it is done, or could not be."""

    @dataclass
    class Worked(Message):
        """An act is done."""

        outcome: Outcome
        then: Then | None

    @property
    def acts(self) -> Acts:
        return self.session.acts

    def work(self, act: Callable[[], Outcome], then: Then | None = None) -> None:
        def run() -> None:
            from core.errors import InputError  # not for the first paint: `core` brings all settings with it

            with _in_turn:
                try:
                    outcome = act()
                except (InputError, OSError) as error:
                    outcome = Outcome(problems=(sentence(error),))
            self.post_message(self.Worked(outcome, then))

        self.run_worker(run, thread=True, group="acts", exit_on_error=False)

    def on_working_screen_worked(self, event: Worked) -> None:
        outcome = event.outcome
        if outcome.sentence:
            self.notify(outcome.sentence, timeout=6, markup=False)
        if outcome.problems:
            self.notify("\n".join(outcome.problems), severity="error", timeout=10, markup=False)
        self.session.look_again()
        if event.then:
            event.then(outcome)

    def copy(self, command: str) -> None:
        """Through the terminal, so that it works over SSH; where that is forbidden, the toast can be read."""
        self.app.copy_to_clipboard(command)
        self.notify(command, title="Copied", timeout=6, markup=False)
