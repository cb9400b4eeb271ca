"""The command `clarinet-tui`."""

import argparse
import gc
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import NoReturn

from clarinet_tui.streams import replace_dead_streams
from clarinet_tui.ui.feed.history_feed import FPS

MIN_FPS, MAX_FPS = 0.2, 10.0
PAINTS_PER_UPDATE = 15
"""Maximum number of paints of the screen between two updates, for keys and the mouse."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Show the history, or the given runs live, until the user quits; exit with code 2 if that is impossible."""
    options = _parser().parse_args(arguments)
    if options.version:
        from clarinet_tui.version import version_text

        print(version_text(options.verbose))
        return
    runs_dir = Path(options.runs_dir)
    find_database = cache(lambda: Path(options.db) if options.db else _temporary_database(runs_dir))
    ids = _find_runs(runs_dir, options.runs, find_database) if options.runs else ()
    if problem := _terminal_problem():
        _exit(f"{problem}; use `clarinet ls` to list runs without one")
    database = find_database()
    gc.disable()  # objects made for the first paint live on: searching them for garbage costs 10 % of the CPU
    # Textual reads the variable once, when it is imported.
    os.environ.setdefault("TEXTUAL_FPS", str(max(1, min(60, round(PAINTS_PER_UPDATE * options.fps)))))
    from clarinet_tui.ui.app import ClarinetApp
    from clarinet_tui.ui.terminal_driver import TerminalDriver

    app = ClarinetApp(
        runs_dir,
        runs=ids,
        database=database,
        data_dir=Path(options.data_dir),
        fps=options.fps,
        catches_errors=True,
        on_first_paint=_enable_garbage_collection,
    )
    app.driver_class = TerminalDriver
    app.run()
    replace_dead_streams()
    sys.exit(app.return_code or 0)


def _exit(problem: object) -> NoReturn:
    print(f"clarinet-tui: {problem}", file=sys.stderr)
    sys.exit(2)


def _temporary_database(runs_dir: Path) -> Path | None:
    """Return a database elsewhere for a directory that cannot be written."""
    paths = (runs_dir, runs_dir / "clarinet.db")
    if all(not path.exists() or (path.stat().st_uid == os.geteuid() and os.access(path, os.W_OK)) for path in paths):
        return None  # this user's directory: the common case, found without slow imports
    from clarinet_tui.history.database import temporary_database
    from core.errors import InputError

    try:
        database = temporary_database(runs_dir)
    except InputError as error:
        _exit(error)
    if database:
        reason = "cannot be written: its history is built in a temporary file"
        print(f"clarinet-tui: {runs_dir}: {reason}", file=sys.stderr)
    return database


def _terminal_problem() -> str:
    """Return why the app cannot be shown here; an empty text if it can."""
    if not sys.stdin.isatty() or not sys.stdout.isatty():
        return "needs a terminal"
    if os.environ.get("TERM", "") in ("", "dumb"):
        return f"needs a terminal that can move its cursor, and TERM is {os.environ.get('TERM') or 'not set'}"
    return ""


def _enable_garbage_collection() -> None:
    gc.freeze()
    gc.enable()


def _find_runs(runs_dir: Path, words: Sequence[str], find_database: Callable[[], Path | None]) -> tuple[str, ...]:
    """Return the ids of the runs without duplicates."""
    from clarinet_tui.history.database import Database
    from clarinet_tui.history.lookup import find_runs
    from clarinet_tui.history.reindex import open_history
    from clarinet_tui.history.states import update_history
    from clarinet_tui.ui.app_state import MAX_OVERLAID
    from core.errors import InputError

    try:
        with ExitStack() as opened:

            @cache
            def open_updated() -> Database:
                if not runs_dir.exists():
                    return Database.in_memory()
                database = opened.enter_context(open_history(runs_dir, find_database()))
                update_history(database, runs_dir)
                return database

            ids = tuple(run.id for run in find_runs(runs_dir, words, open_updated))
    except InputError as error:
        _exit(error)
    if len(ids) > MAX_OVERLAID:
        _exit(f"expected at most {MAX_OVERLAID} runs to overlay, got {len(ids)}")
    return ids


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="clarinet-tui",
        description="Watch, start and compare runs in the terminal. Closing it does not stop any run.",
        epilog="example: clarinet-tui --runs-dir runs 3f7",
    )
    parser.add_argument(
        "runs",
        nargs="*",
        metavar="RUN",
        help="run to show live, or several to overlay: ids, unique prefixes, last, names or a query",
    )
    parser.add_argument(
        "--runs-dir",
        default=os.environ.get("CLARINET_RUNS") or "runs",
        help="directory of the runs (default: CLARINET_RUNS, or ./runs)",
    )
    parser.add_argument(
        "--data-dir",
        default=os.environ.get("CLARINET_DATA") or "data",
        help="directory of the data sets for new runs (default: CLARINET_DATA, or ./data)",
    )
    parser.add_argument(
        "--db",
        default=os.environ.get("CLARINET_DB"),
        help="database file of the history (default: CLARINET_DB, or a file in the runs directory)",
    )
    parser.add_argument(
        "--fps",
        type=parse_fps,
        default=FPS,
        metavar="N",
        help=f"updates per second, {MIN_FPS:g} to {MAX_FPS:g}; use fewer over a slow connection (default: {FPS:g})",
    )
    parser.add_argument("--version", action="store_true", help="print the version; more with --verbose")
    parser.add_argument("--verbose", action="store_true", help=argparse.SUPPRESS)
    return parser


def parse_fps(text: str) -> float:
    try:
        fps = float(text)
    except ValueError:
        fps = 0.0
    if not MIN_FPS <= fps <= MAX_FPS:
        raise argparse.ArgumentTypeError(f"expected a number from {MIN_FPS:g} to {MAX_FPS:g}, got {text!a}")
    return fps


if __name__ == "__main__":
    main()
