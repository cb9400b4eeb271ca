"""Textual's driver for browsers, which ends with whoever holds the other end of the pipe."""

from __future__ import annotations

import os
from typing import Any

from textual.app import App
from textual.drivers.web_driver import WebDriver
from textual.messages import ExitApp


class PipeDriver(WebDriver):
    """Without it, the app of a server that was killed would stay for ever."""

    def __init__(
        self, app: App[Any], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._write = self._write_to_pipe  # type: ignore[assignment]

    def _write_to_pipe(self, data: bytes) -> int:
        try:
            return os.write(self.fileno, data)
        except BrokenPipeError:
            return 0  # the end of the input says the same, and ends the app

    def run_input_thread(self) -> None:
        super().run_input_thread()
        if not self.exit_event.is_set():
            self._app.post_message(ExitApp())
