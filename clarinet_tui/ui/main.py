"""The command `clarinet-tui`."""

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from clarinet_tui.ui.feed.history_feed import FPS

SLOWEST, FASTEST = 0.2, 10.0
"""Updates a second, at least and at most."""
PAINTS = 15
"""How often the screen may be painted for one update."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Opens the app; ends with 2 and a sentence if a run is not there."""
    asked = _parser().parse_args(arguments)
    database = Path(asked.db) if asked.db else None
    sys.exit(show(Path(asked.runs_dir), asked.runs, database, asked.fps, Path(asked.data_dir)))


def show(
    runs_dir: Path,
    runs: Sequence[str] = (),
    database: Path | None = None,
    fps: float = FPS,
    data_dir: Path = Path("data"),
) -> int:
    """The app on a runs directory: on its history, on one run, or on several over each other."""
    found = _find(runs_dir, runs) if runs else ()
    if found is None:
        return 2
    if not sys.stdout.isatty():
        print("clarinet-tui: needs a terminal: `clarinet ls` lists the runs without one", file=sys.stderr)
        return 2
    gc.disable()  # what is made for the first paint stays: looking through it for garbage costs a tenth of the CPU
    # Textual reads it once, when it is imported: so often keys and mouse may have the screen painted again.
    os.environ.setdefault("TEXTUAL_FPS", str(max(1, min(60, round(PAINTS * fps)))))
    from clarinet_tui.ui.app import ClarinetApp

    app = ClarinetApp(
        runs_dir, runs=found, database=database, data_dir=data_dir, fps=fps, careful=True, painted=_look_for_garbage
    )
    app.run()
    return app.return_code or 0


def _look_for_garbage() -> None:
    """From the first paint on, and only among what is made after it."""
    gc.freeze()
    gc.enable()


def _find(runs_dir: Path, runs: Sequence[str]) -> tuple[str, ...] | None:
    """The ids of those runs, each once; or a sentence and None."""
    from clarinet_tui.runs.directory import find_run
    from clarinet_tui.ui.app_state import MOST_OVERLAID
    from core.errors import InputError

    try:
        found = tuple(dict.fromkeys(find_run(runs_dir, run).id for run in runs))
        if len(found) > MOST_OVERLAID:
            raise InputError(f"expected at most {MOST_OVERLAID} runs to show over each other, got {len(found)}")
    except InputError as error:
        print(f"clarinet-tui: {error}", file=sys.stderr)
        return None
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="clarinet-tui",
        description="Look at runs in the terminal. Closing it never ends a run.",
        epilog="example: clarinet-tui --runs-dir runs 3f7",
    )
    parser.add_argument("runs", nargs="*", metavar="RUN", help="show this run live, or several over each other")
    parser.add_argument(
        "--runs-dir",
        default=os.environ.get("CLARINET_RUNS") or "runs",
        help="where the runs are (default: CLARINET_RUNS, or ./runs)",
    )
    parser.add_argument(
        "--data-dir",
        default=os.environ.get("CLARINET_DATA") or "data",
        help="where the data of new runs is (default: CLARINET_DATA, or ./data)",
    )
    parser.add_argument(
        "--db",
        default=os.environ.get("CLARINET_DB"),
        help="the history's database, if it is not in the runs directory (default: CLARINET_DB)",
    )
    parser.add_argument(
        "--fps",
        type=rate,
        default=FPS,
        metavar="N",
        help=f"updates a second, {SLOWEST:g} to {FASTEST:g}: fewer for a slow line (default: {FPS:g})",
    )
    return parser


def rate(text: str) -> float:
    """Updates a second as they may be asked for."""
    try:
        asked = float(text)
    except ValueError:
        asked = 0.0
    if not SLOWEST <= asked <= FASTEST:
        raise argparse.ArgumentTypeError(f"expected a number from {SLOWEST:g} to {FASTEST:g}, got {text!a}")
    return asked


if __name__ == "__main__":
    main()
