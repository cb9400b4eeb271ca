"""The app of one browser tab. `clarinet serve` starts it with pipes instead of a terminal."""

import argparse
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from textual.app import App
from textual.drivers.web_driver import WebDriver
from textual.messages import ExitApp

from clarinet_tui.ui.app import ClarinetApp


class PipeDriver(WebDriver):
    """Ignores a closed output and exits at the end of the input, so that no app outlives a killed server."""

    def __init__(self, app: App[Any], **options: Any) -> None:
        self._served_app = app
        super().__init__(app, **options)

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


def main() -> None:
    """Run the app until it is quit or the pipe is closed."""
    parser = argparse.ArgumentParser(prog="clarinet serve")
    parser.add_argument("--runs-dir", type=Path, required=True)
    parser.add_argument("--data-dir", type=Path, required=True)
    options = parser.parse_args()
    app = ClarinetApp(options.runs_dir, data_dir=options.data_dir, catches_errors=True)
    app.driver_class = PipeDriver
    app.run()
    sys.exit(app.return_code or 0)


if __name__ == "__main__":
    main()
