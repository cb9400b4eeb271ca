"""Textual's web driver, which ends the app when the server closes the pipe. Import it after setting the environment."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from textual.app import App
from textual.drivers.web_driver import WebDriver
from textual.messages import ExitApp


class PipeDriver(WebDriver):
    """Ignores a closed output and exits at the end of the input, so that no app outlives a killed server."""

    def __init__(
        self, app: App[Any], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        self._served_app = app
        super().__init__(app, debug=debug, mouse=mouse, size=size)

    def write(self, data: str) -> None:
        with suppress(BrokenPipeError):
            super().write(data)

    def write_meta(self, data: dict[str, object]) -> None:
        with suppress(BrokenPipeError):
            super().write_meta(data)

    def write_binary_encoded(self, data: tuple[str | bytes, ...]) -> None:
        with suppress(BrokenPipeError):
            super().write_binary_encoded(data)

    def run_input_thread(self) -> None:
        super().run_input_thread()
        if not self.exit_event.is_set():
            self._served_app.post_message(ExitApp())
