"""A view that also shows the machine: it is looked at while the view is there."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from clarinet_tui.ui.screens.action_screen import WorkingScreen

if TYPE_CHECKING:
    from clarinet_tui.ui.snapshot.machine import Machine


class MachineScreen(WorkingScreen):
    """Shows what it is given, and what was seen last until then."""

    @abstractmethod
    def see(self, machine: Machine) -> None:
        """Shows devices and queue."""

    def perceive(self, machine: Machine) -> None:
        if self._ready:
            self.see(machine)

    def on_screen_resume(self) -> None:
        self.session.watch(self.NAME, True)
        if self.session.machine:
            self.call_after_refresh(self.perceive, self.session.machine)

    def on_screen_suspend(self) -> None:
        self.session.watch(self.NAME, False)
