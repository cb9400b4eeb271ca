"""An empty database in the place of the old one, which may be in use or beyond reading."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from clarinet_tui.history.database import DamagedHistory, Database, damaged, database_path


@contextmanager
def emptied(runs_dir: Path, path: Path | None = None) -> Iterator[Database]:
    """A readable database is emptied in place, so that those who have it open stay with it; garbage is set aside."""
    path = path or database_path(runs_dir)
    try:
        _empty(runs_dir, path)
    except DamagedHistory:
        _set_aside(path)
    with Database.open(runs_dir, path) as db:
        yield db


def _empty(runs_dir: Path, path: Path) -> None:
    with Database.open(runs_dir, path) as db:
        found = db.rows("PRAGMA quick_check(1)")[0][0]
        if found != "ok":
            raise damaged(path, found)
        with db.transaction() as connection:
            connection.execute("DELETE FROM iterations")
            connection.execute("DELETE FROM rollups")
            connection.execute("DELETE FROM runs")


def _set_aside(path: Path) -> None:
    """Renamed, not deleted: it may be no history at all, but somebody's file."""
    with suppress(FileNotFoundError):
        path.replace(path.with_name(f"{path.name}.damaged-{int(time.time())}"))
    for ending in ("-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
