"""Open the history and find the runs that a command names."""

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from clarinet_tui.cli.output import warn
from clarinet_tui.history import lookup, reindex
from clarinet_tui.history.database import Database, temporary_database
from clarinet_tui.history.ingest import Progress
from clarinet_tui.history.queries import RunRow, get_run, list_runs
from clarinet_tui.history.states import update_history
from clarinet_tui.runs.directory import RunDirectory
from core.errors import InputError

if TYPE_CHECKING:
    from clarinet_tui.analysis.run_records import RunRecords


def open_history(runs_dir: Path) -> Database:
    """Open the history and bring it up to date with the run directories; without a directory, open an empty one."""
    if not runs_dir.exists():
        return Database.in_memory()
    temporary = temporary_database(runs_dir)
    if temporary is not None:
        warn(f"{runs_dir}: cannot be written: its history is built in a temporary file for this command")
    with progress_line("Rebuilding the history") as progress:
        database = reindex.open_history(runs_dir, temporary, progress)
    with progress_line("Reading runs") as progress:
        update_history(database, runs_dir, progress=progress)
    return database


@contextmanager
def progress_line(title: str) -> Iterator[Progress]:
    """Write how many runs were read to a terminal, if that takes longer than a second; clear the line at the end."""
    begin, width = time.monotonic() + 1.0, 0

    def show(done: int, total: int) -> None:
        nonlocal width
        if done % 10 == 0 and time.monotonic() >= begin and sys.stderr.isatty():
            line = f"{title}: {done} of {total} runs" if total else f"{title} …"
            print(f"\r{line:{width}}", end="", file=sys.stderr, flush=True)
            width = max(width, len(line))

    try:
        yield show
    finally:
        if width:
            print(f"\r{'':{width}}\r", end="", file=sys.stderr, flush=True)


def open_records(runs_dir: Path) -> "RunRecords":
    from clarinet_tui.analysis.run_records import RunRecords

    return RunRecords(open_history(runs_dir), runs_dir)


def find_row(database: Database, runs_dir: Path, word: str) -> RunRow:
    """Return the history's row of the run that a word names."""
    row = get_run(database, lookup.find_run(runs_dir, word, lambda: database).id)
    assert row is not None, "open_history has ingested every run directory"
    return row


def find_run(runs_dir: Path, word: str) -> RunDirectory:
    """Find the run that a word names: an id, a unique prefix, `last`, `last-2` or a name."""
    with _lazy_history(runs_dir) as history:
        return lookup.find_run(runs_dir, word, history)


def find_runs(runs_dir: Path, words: list[str]) -> list[RunDirectory]:
    """Find the runs that words name, as in `find_run`, or all that match a query; each once, in this order."""
    with _lazy_history(runs_dir) as history:
        return lookup.find_runs(runs_dir, words, history)


def select_runs(runs_dir: Path, words: list[str] | None, query: str | None) -> list[RunDirectory]:
    """Find runs by words or by `--query`, but not both."""
    if bool(words) == bool(query):
        raise InputError("expected either run ids or --query")
    if words:
        return find_runs(runs_dir, words)
    with open_history(runs_dir) as database:
        runs = [RunDirectory(runs_dir, row.id) for row in list_runs(database, query or "", limit=-1)]
    if not runs:
        raise InputError(f"--query: no run matches {query!a}")
    return runs


@contextmanager
def _lazy_history(runs_dir: Path) -> Iterator[lookup.OpenHistory]:
    """Give the history to what needs it, and close it: ids and their prefixes are found without it."""
    with ExitStack() as opened:
        yield cache(lambda: opened.enter_context(open_history(runs_dir)))
