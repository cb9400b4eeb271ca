"""The app of one browser tab. `clarinet serve` starts it with pipes instead of a terminal."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from clarinet_tui.runs.ownership import READ_ONLY_VARIABLE
from clarinet_tui.ui.feed.history_feed import FPS
from clarinet_tui.ui.main import PAINTS_PER_UPDATE


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the app until it is quit or the pipe is closed."""
    # Ctrl+C is handled by the server, which then ends the app.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parser = argparse.ArgumentParser(prog="clarinet serve")
    parser.add_argument("--runs-dir", type=Path, required=True)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--read-only", action="store_true")
    options = parser.parse_args(arguments)
    if options.read_only:
        os.environ[READ_ONLY_VARIABLE] = "1"
    # The values of the page, not of the server's terminal. Textual reads the frame rate on import.
    os.environ.update({"TERM": "xterm-256color", "TEXTUAL_FPS": str(round(PAINTS_PER_UPDATE * FPS))})
    from clarinet_tui.ui.app import ClarinetApp
    from clarinet_tui.ui.serve.driver import PipeDriver

    database = os.environ.get("CLARINET_DB")
    app = ClarinetApp(
        options.runs_dir, database=Path(database) if database else None, data_dir=options.data_dir, catches_errors=True
    )
    app.driver_class = PipeDriver
    app.run()
    sys.exit(app.return_code or 0)


if __name__ == "__main__":
    main()
