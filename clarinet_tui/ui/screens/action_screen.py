"""Views that act on runs: an action runs in a thread, one at a time, and its result is shown."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from textual.message import Message

from clarinet_tui.ui.error_guard import report_error
from clarinet_tui.ui.screens.view_screen import ViewScreen

if TYPE_CHECKING:
    from clarinet_tui.ui.actions import ActionResult, RunActions
    from clarinet_tui.ui.snapshot.machine import MachineSnapshot

    OnDone = Callable[[ActionResult], object]

MAX_NAMED = 6
"""Maximum number of run ids in a question."""
_action_lock = threading.Lock()
"""Two keys in quick succession start two actions, one after the other."""


class ActionScreen(ViewScreen):
    @dataclass
    class ActionDone(Message):
        """An action has ended; `error` is an unexpected exception in it."""

        result: ActionResult
        on_done: OnDone | None
        error: Exception | None = None

    @property
    def actions(self) -> RunActions:
        return self.state.actions

    def start_action(self, action: Callable[[], ActionResult], on_done: OnDone | None = None) -> None:
        """Run the action in a thread, show its result, and call `on_done` with it, whether it failed or not."""
        self.run_worker(lambda: self._run_action(action, on_done), thread=True, group="actions", exit_on_error=False)

    def _run_action(self, action: Callable[[], ActionResult], on_done: OnDone | None) -> None:
        # Not for the first paint: `core` imports all settings.
        from clarinet_tui.ui.actions import ActionResult
        from core.errors import ClarinetError, describe_error

        unexpected = None
        with _action_lock:
            try:
                result = action()
            except (ClarinetError, OSError) as error:
                result = ActionResult(errors=(describe_error(error),))
            except Exception as error:  # noqa: BLE001  reported by the handler of the message
                result, unexpected = ActionResult(errors=(describe_error(error),)), error
        self.post_message(self.ActionDone(result, on_done, unexpected))

    def on_action_screen_action_done(self, event: ActionDone) -> None:
        result = event.result
        if result.message:
            self.notify(result.message, timeout=6, markup=False)
        if result.errors and not event.error:
            self.notify("\n".join(result.errors), severity="error", timeout=10, markup=False)
        self.state.machine_feed.refresh()
        if event.on_done:
            event.on_done(result)
        if event.error:
            report_error(self, event.error)

    def confirm(self, question: str, yes: str, details: str, on_yes: Callable[[], None]) -> None:
        from clarinet_tui.ui.screens.dialogs import ConfirmDialog

        self.app.push_screen(ConfirmDialog(question, yes, details), lambda answer: on_yes() if answer else None)

    def stop(self, runs: tuple[str, ...]) -> None:
        self.start_action(partial(self.actions.stop, runs))

    def ask_to_stop(self, runs: tuple[str, ...]) -> None:
        name, details = name_runs(runs)
        saved = "It saves a checkpoint; r resumes it." if len(runs) == 1 else "Each saves a checkpoint; r resumes them."
        self.confirm(f"Stop {name}?", "Stop", f"{details}{saved}", partial(self.stop, runs))


class MachineScreen(ActionScreen):
    """A view that also shows devices and queue, which are read only while such a view is open."""

    @abstractmethod
    def show_machine(self, machine: MachineSnapshot) -> None:
        """Show devices and queue."""

    def receive_machine(self, machine: MachineSnapshot) -> None:
        if self._is_ready:
            self.show_machine(machine)

    def on_screen_resume(self) -> None:
        self.state.machine_feed.poll(self.NAME, True)
        if self.state.machine:
            self.call_after_refresh(self.receive_machine, self.state.machine)

    def on_screen_suspend(self) -> None:
        self.state.machine_feed.poll(self.NAME, False)


def format_ids(runs: tuple[str, ...]) -> str:
    more = f" and {len(runs) - MAX_NAMED} more" if len(runs) > MAX_NAMED else ""
    return ", ".join(runs[:MAX_NAMED]) + more


def name_runs(runs: tuple[str, ...]) -> tuple[str, str]:
    """Return the subject of a question, and the ids of several runs as a sentence of their own."""
    return (f"run {runs[0]}", "") if len(runs) == 1 else (f"{len(runs)} runs", f"{format_ids(runs)}. ")
