"""An exception in a view is kept in a file and told in a sentence; the app stays usable, and the runs never notice."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar, cast

from textual.message_pump import MessagePump
from textual.strip import Strip

from core.errors import describe_error

if TYPE_CHECKING:
    from textual.message import Message
    from textual.widget import Widget

MAX_BYTES = 1 << 20
"""Bytes of the file after which it is begun anew; the one before is kept."""
REPEAT_SECONDS = 10.0
"""Seconds for which the same trouble is not told again."""


class ErrorReporter(Protocol):
    """An app that goes on: `careful` is off in tests, where an exception is to be seen."""

    catches_errors: bool

    def report_error(self, error: Exception, where: str) -> None: ...


class GuardedHandlers(MessagePump):
    """A screen or widget that outlives an exception in its handlers."""

    async def _dispatch_message(self, message: Message) -> None:
        try:
            await super()._dispatch_message(message)
        except Exception as error:  # noqa: BLE001  whatever it is, the user reads it and the app goes on
            report_error(self, error)


Drawing = TypeVar("Drawing", bound="Callable[..., Strip]")


def guard_render_line(draw: Drawing) -> Drawing:
    """For `render_line`: what cannot be drawn is left blank."""

    def drawn(widget: Widget, y: int) -> Strip:
        try:
            return draw(widget, y)
        except Exception as error:  # noqa: BLE001  a hole in the picture is better than no picture
            report_error(widget, error)
            return Strip.blank(widget.size.width)

    return cast(Drawing, drawn)


def report_error(pump: MessagePump, error: Exception) -> None:
    """Tells the app, if it is careful; else the exception goes on as usual."""
    app = cast("ErrorReporter", pump.app)
    if not getattr(app, "catches_errors", False):
        raise error
    app.report_error(error, type(pump).__name__)


def error_log_path(environ: Mapping[str, str] = os.environ) -> Path:
    """Where troubles are kept: in the user's state."""
    home = environ.get("XDG_STATE_HOME") or str(Path(environ.get("HOME") or "~").expanduser() / ".local" / "state")
    return Path(home) / "clarinet" / "tui.log"


class ErrorLog:
    """The file of troubles, bounded; and which of them were told lately."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self.path, self._clock = path, clock
        self._reported: dict[str, float] = {}

    def write(self, error: Exception, where: str) -> str | None:
        """Keeps the trouble; a sentence for the user, or None if the same one was told just now."""
        what = describe_error(error)
        now = self._clock()
        if now - self._reported.get(what, -REPEAT_SECONDS) < REPEAT_SECONDS:
            return None
        self._reported[what] = now
        kept = self._append(
            f"{time.strftime('%Y-%m-%d %H:%M:%S')} in {where}\n{''.join(traceback.format_exception(error))}\n"
        )
        place = f"Details are in {self.path}." if kept else f"Details could not be written to {self.path}."
        return f"Something went wrong here ({what}). The runs go on. {place}"

    def _append(self, text: str) -> bool:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self.path.exists() and self.path.stat().st_size > MAX_BYTES:
                self.path.replace(self.path.with_suffix(".log.1"))
            with self.path.open("a", encoding="utf-8", errors="replace") as file:
                file.write(text)
        except OSError:
            return False
        return True
