"""The app for one tab of a browser: `clarinet serve` starts it, with pipes where a terminal would be."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from clarinet_tui.ui.feed.history_feed import FPS
from clarinet_tui.ui.main import PAINTS_PER_UPDATE


def app_command(runs_dir: Path, data_dir: Path) -> list[str]:
    """The command; -P keeps a folder called `core` where the user stands from being imported."""
    places = [f"--runs-dir={runs_dir}", f"--data-dir={data_dir}"]
    return [sys.executable, "-P", "-m", "clarinet_tui.ui.serve.session", *places]


def main(arguments: Sequence[str] | None = None) -> None:
    """Shows the app at the other end of the pipe, until it is quit or the pipe is closed."""
    # Ctrl+C is for the server, which then lets the app end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parser = argparse.ArgumentParser(prog="clarinet serve")
    parser.add_argument("--runs-dir", type=Path, required=True)
    parser.add_argument("--data-dir", type=Path, required=True)
    asked = parser.parse_args(arguments)
    # Of the page, not of the terminal where the server was started; Textual reads the rate when it is imported.
    os.environ.update({"TERM": "xterm-256color", "TEXTUAL_FPS": str(round(PAINTS_PER_UPDATE * FPS))})
    from clarinet_tui.ui.app import ClarinetApp
    from clarinet_tui.ui.serve.driver import PipeDriver

    named = os.environ.get("CLARINET_DB")
    app = ClarinetApp(
        asked.runs_dir, database=Path(named) if named else None, data_dir=asked.data_dir, catches_errors=True
    )
    app.driver_class = PipeDriver
    app.run()
    sys.exit(app.return_code or 0)


if __name__ == "__main__":
    main()
