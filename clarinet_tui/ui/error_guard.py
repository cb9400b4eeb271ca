"""Report unexpected exceptions: a traceback in the error log, a sentence on the screen; the app stays usable."""

from __future__ import annotations

import os
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from textual.message_pump import MessagePump
from textual.strip import Strip
from textual.widget import Widget

MAX_BYTES = 1 << 20
"""Size after which the log file is rotated; one older file is kept."""
REPEAT_SECONDS = 10.0
"""The same error is not reported again within this time."""


def guard_render_line(render_line: Callable[[Any, int], Strip]) -> Callable[[Any, int], Strip]:
    """Decorate a widget's `render_line`: a line that cannot be drawn is blank."""

    def guarded(widget: Widget, y: int) -> Strip:
        try:
            return render_line(widget, y)
        except Exception as error:  # noqa: BLE001  a blank line is better than no picture
            report_error(widget, error)
            return Strip.blank(widget.size.width)

    return guarded


def report_error(pump: MessagePump, error: Exception) -> None:
    """Report the error through the app, or raise it if the app does not catch errors, as in tests."""
    app: Any = pump.app
    if not getattr(app, "catches_errors", False):
        raise error
    app.report_error(error, type(pump).__name__)


def error_log_path(environ: Mapping[str, str] = os.environ) -> Path:
    home = environ.get("XDG_STATE_HOME") or str(Path(environ.get("HOME") or "~").expanduser() / ".local" / "state")
    return Path(home) / "clarinet" / "tui.log"


class ErrorLog:
    """A bounded file of tracebacks, written by any thread."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self.path, self._clock = path, clock
        self._reported: dict[str, float] = {}
        self._lock = threading.Lock()

    def write(self, error: Exception, where: str) -> str | None:
        """Append the traceback; return a sentence for the user, or None if the same error was just reported."""
        from core.errors import describe_error  # importing `core` takes too long for the first paint

        description, now = describe_error(error), self._clock()
        with self._lock:
            if now - self._reported.get(description, -REPEAT_SECONDS) < REPEAT_SECONDS:
                return None
            self._reported[description] = now
            entry = "".join(traceback.format_exception(error))
            details = "are in"
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                if self.path.exists() and self.path.stat().st_size > MAX_BYTES:
                    self.path.replace(self.path.with_suffix(".log.1"))
                with self.path.open("a", encoding="utf-8", errors="replace") as file:
                    file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} in {where}\n{entry}\n")
            except OSError:
                details = "could not be written to"
        return f"Internal error ({description}). Runs are not affected. Details {details} {self.path}."
