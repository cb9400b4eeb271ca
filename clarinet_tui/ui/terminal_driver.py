"""Textual's driver for terminals, which also ends the app when its terminal is gone."""

from __future__ import annotations

import select
from contextlib import suppress
from threading import Thread
from typing import IO, Any, cast

from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.messages import ExitApp


class QuietOutput:
    """A terminal's output that ignores what can no longer be written."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, text: str) -> int:
        with suppress(OSError):
            self._file.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._file.flush()

    def fileno(self) -> int:
        return self._file.fileno()


class TerminalDriver(LinuxDriver):
    """A terminal may vanish without SIGHUP: Textual would then read its end forever, and block on its output."""

    def __init__(self, app: App[Any], **options: Any) -> None:
        super().__init__(app, **options)
        self._shown_app = app
        self._file = cast("Any", QuietOutput(cast("IO[str]", self._file)))
        self._watcher: Thread | None = None

    def start_application_mode(self) -> None:
        super().start_application_mode()  # type: ignore[no-untyped-call]
        if self._watcher is None:
            self._watcher = Thread(target=self._wait_for_hangup, name="hangup", daemon=True)
            self._watcher.start()

    def _wait_for_hangup(self) -> None:
        poll = select.poll()
        poll.register(self.fileno, 0)  # a hang-up is reported without being asked for
        poll.poll()
        self._shown_app.post_message(ExitApp())
