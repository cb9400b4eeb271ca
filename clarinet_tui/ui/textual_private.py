"""The only module that uses Textual's private API: check it first after an update of Textual."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual._context import active_message_pump
from textual.app import App
from textual.message_pump import MessagePump
from textual.screen import Screen

from clarinet_tui.ui.error_guard import report_error

if TYPE_CHECKING:
    from rich.style import Style
    from textual.message import Message
    from textual.strip import Strip
    from textual.widgets import Log
else:
    Log = object  # importing it takes too long for the first paint


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


class LogLineStyles(Log):
    """Mixed into `Log`: draws some lines differently."""

    def style_line(self, y: int, style: Style) -> Strip | None:
        """Return line `y` as drawn by a subclass, or None to draw it as usual."""
        return None

    def expanded_line(self, y: int) -> str:
        """Return line `y` with its tabs expanded. Private: `Log` shows this text, but does not give it out."""
        return self._process_line(self.lines[y])

    def _render_line_strip(self, y: int, rich_style: Style) -> Strip:
        """Private: `Log` has no public hook for the style of one line."""
        strip = self.style_line(y, rich_style)
        return super()._render_line_strip(y, rich_style) if strip is None else strip
