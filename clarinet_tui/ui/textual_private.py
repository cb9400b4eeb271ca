"""The only module that uses Textual's private API: check it first after an update of Textual."""

from __future__ import annotations

from textual._context import active_message_pump
from textual.app import App
from textual.message import Message
from textual.message_pump import MessagePump
from textual.screen import Screen

from clarinet_tui.ui.error_guard import report_error


class GuardedHandlers(MessagePump):
    """A screen or widget that survives exceptions in its message handlers."""

    async def _dispatch_message(self, message: Message) -> None:
        """Private: Textual has no public hook around the handlers of a message."""
        try:
            await super()._dispatch_message(message)
        except Exception as error:  # noqa: BLE001  the error is reported, and the app stays usable
            report_error(self, error)


class GuardedApp(App[None]):
    """An app that survives exceptions in callbacks of guarded screens and widgets."""

    catches_errors = False

    def report_error(self, error: Exception, where: str) -> None:
        raise NotImplementedError

    def _handle_exception(self, error: Exception) -> None:
        """Private: timers and `call_later` run outside of message handlers, and end here when they fail."""
        if self.catches_errors and isinstance(active_message_pump.get(None), GuardedHandlers):
            self.report_error(error, "a view")
        else:
            super()._handle_exception(error)


class PrestyledScreen(Screen[None]):
    """A screen that can take its styles before it is mounted."""

    def apply_styles_early(self) -> None:
        """Set the size classes and styles now. Private: otherwise Textual computes all styles twice on mounting."""
        width, height = self.app.size
        for length, breakpoints in ((width, self.HORIZONTAL_BREAKPOINTS), (height, self.VERTICAL_BREAKPOINTS)):
            self.set_class(True, *self._get_breakpoint_classes(length, breakpoints or []), update=False)
        self.app.stylesheet.apply(self.app)  # text without a colour of its own inherits the app's
        self._css_update_count = self.app._css_update_count
