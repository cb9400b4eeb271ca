"""Rebuild the whole history from the run directories."""

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from clarinet_tui.history.database import DamagedHistoryError, Database, database_path
from clarinet_tui.history.ingest import ingest_run
from clarinet_tui.runs.directory import list_runs

Progress = Callable[[int, int, str], None]
"""Called with the runs done, the runs in all, and the id of the current run."""


def reindex(
    runs_dir: Path, progress: Progress = lambda done, total, run_id: None, path: Path | None = None
) -> dict[str, str]:
    """Empty the database and ingest every run; return the errors of unreadable runs by id."""
    path = path or database_path(runs_dir)
    try:
        _empty(runs_dir, path)
    except DamagedHistoryError:
        _set_aside(path)
    errors: dict[str, str] = {}
    with Database.open(runs_dir, path) as db:
        runs = list_runs(runs_dir)
        for done, run in enumerate(runs):
            progress(done, len(runs), run.id)
            try:
                ingest_run(db, run)
            except OSError as error:
                errors[run.id] = f"{error.filename or run.path}: {error.strerror}"
        progress(len(runs), len(runs), "")
    return errors


def _empty(runs_dir: Path, path: Path) -> None:
    """Delete all rows, and not the file: other processes may have it open."""
    with Database.open(runs_dir, path) as db:
        check = db.rows("PRAGMA quick_check(1)")[0][0]
        if check != "ok":
            raise DamagedHistoryError(path, check)
        with db.transaction() as connection:
            connection.execute("DELETE FROM iterations")
            connection.execute("DELETE FROM rollups")
            connection.execute("DELETE FROM runs")


def _set_aside(path: Path) -> None:
    """Rename the file instead of deleting it: it may not be a history but some other file of the user."""
    with suppress(FileNotFoundError):
        path.replace(path.with_name(f"{path.name}.damaged-{int(time.time())}"))
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
