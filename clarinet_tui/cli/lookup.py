"""Open the history and find the runs that a command names."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from clarinet_tui.cli.output import warn
from clarinet_tui.history import reindex
from clarinet_tui.history.database import Database, temporary_database
from clarinet_tui.history.ingest import Progress
from clarinet_tui.history.queries import RunRow, get_run, list_runs
from clarinet_tui.history.states import update_history
from clarinet_tui.runs.directory import RunDirectory, find_run
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


def find_row(database: Database, runs_dir: Path, prefix: str) -> RunRow:
    """Return the history's row of the run with this id prefix."""
    row = get_run(database, find_run(runs_dir, prefix).id)
    assert row is not None, "open_history has ingested every run directory"
    return row


def find_runs(runs_dir: Path, prefixes: list[str]) -> list[RunDirectory]:
    """Find runs by id prefix, each once, in this order."""
    return list({run.id: run for run in (find_run(runs_dir, prefix) for prefix in prefixes)}.values())


def select_runs(runs_dir: Path, prefixes: list[str] | None, query: str | None) -> list[RunDirectory]:
    """Find runs by id prefix or by query, but not both."""
    if bool(prefixes) == bool(query):
        raise InputError("expected either run ids or --query")
    if prefixes:
        return find_runs(runs_dir, prefixes)
    with open_history(runs_dir) as database:
        runs = [RunDirectory(runs_dir, row.id) for row in list_runs(database, query or "", limit=-1)]
    if not runs:
        raise InputError(f"--query: no run matches {query!a}")
    return runs
