"""Rebuild the whole history from the run directories."""

import os
import sqlite3
import time
from contextlib import suppress
from pathlib import Path

from clarinet_tui.history import database
from clarinet_tui.history.database import DamagedHistoryError, Database, database_path
from clarinet_tui.history.ingest import Progress, ingest_all

SUFFIXES = ("", "-wal", "-shm")


def reindex(runs_dir: Path, progress: Progress = lambda done, total: None, path: Path | None = None) -> dict[str, str]:
    """Ingest every run into a new database, and replace the content of the old one by it in one transaction.

    Until then, and if anything fails, the old history stays as it was. Return by id what cannot be read.
    """
    path = path or database_path(runs_dir)
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.rebuilt-{os.getpid()}")
    try:
        with Database.open(runs_dir, beside) as rebuilt:
            ingest_all(rebuilt, runs_dir, progress)
            _replace_content(runs_dir, path, rebuilt)
            return dict(rebuilt.tuples("SELECT id, problems ->> '$[0]' FROM runs WHERE problems IS NOT NULL"))
    finally:
        for suffix in SUFFIXES:
            beside.with_name(beside.name + suffix).unlink(missing_ok=True)


def _replace_content(runs_dir: Path, path: Path, rebuilt: Database) -> None:
    """Copy the pages, and do not rename the file: other processes may have it open."""
    try:
        _check_pages(runs_dir, path)
    except DamagedHistoryError:
        _set_aside(path)
    deadline = time.monotonic() + database.BUSY_SECONDS

    def limit_wait(status: int, remaining: int, total: int) -> None:
        if status in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) and time.monotonic() > deadline:
            raise database.locked_error(path)

    with Database.open(runs_dir, path) as db, database.explain_errors(path):
        rebuilt.connection.backup(db.connection, progress=limit_wait)


def _check_pages(runs_dir: Path, path: Path) -> None:
    with Database.open(runs_dir, path) as db:
        check = db.rows("PRAGMA quick_check(1)")[0][0]
        if check != "ok":
            raise DamagedHistoryError(path, check)


def _set_aside(path: Path) -> None:
    """Rename the file instead of deleting it: it may not be a history but some other file of the user."""
    with suppress(FileNotFoundError):
        path.replace(path.with_name(f"{path.name}.damaged-{int(time.time())}"))
    for suffix in SUFFIXES[1:]:
        path.with_name(path.name + suffix).unlink(missing_ok=True)
