"""Rebuild the history from the run directories, and compare it with their journals."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, suppress
from hashlib import blake2b
from pathlib import Path

from clarinet_tui.history import database
from clarinet_tui.history.database import DamagedHistoryError, Database, OutdatedHistoryError, connect, database_path
from clarinet_tui.history.ingest import Progress, ingest_all, ingest_run, no_progress
from clarinet_tui.history.journal_batches import Position, ReplacedFileError, advance
from clarinet_tui.runs.directory import RunDirectory, list_runs
from clarinet_tui.runs.files import UnreadableFileError, open_file, set_aside
from clarinet_tui.runs.lock import LockHeldError, hold_lock

POLL_SECONDS = 0.5
"""Interval at which a process looks whether another one has rebuilt the history."""
SUFFIXES = ("", "-wal", "-shm")
ROWS = {
    "iterations": "SELECT * FROM iterations WHERE run = ? ORDER BY iteration",
    "evaluations": "SELECT * FROM evaluations WHERE run = ? ORDER BY iteration, stage",
    "events": "SELECT * FROM events WHERE run = ? ORDER BY position",
    "rollups": """SELECT metric, level, bucket, low, high, count, missing FROM rollups WHERE run = ?
        ORDER BY metric, level, bucket""",
}
TOTALS = """SELECT total, count * max(abs(ifnull(low, 0)), abs(ifnull(high, 0))) FROM rollups WHERE run = ?
    ORDER BY metric, level, bucket"""
TOLERANCE = 1e-9
"""Versions of Python and SQLite round a sum differently."""


def open_history(runs_dir: Path, path: Path | None = None, progress: Progress = no_progress) -> Database:
    """Open the history for reading and writing; rebuild it first if an older version has made it."""
    path = path or database_path(runs_dir)
    while True:
        with suppress(OutdatedHistoryError):
            return Database.open(runs_dir, path)
        progress(0, 0)
        # Of several processes one rebuilds it, and the others wait until it is not outdated any more.
        with suppress(LockHeldError), _hold_lock(path, POLL_SECONDS):
            try:
                return Database.open(runs_dir, path)
            except OutdatedHistoryError:
                _rebuild(runs_dir, progress, path)


def reindex(runs_dir: Path, progress: Progress = no_progress, path: Path | None = None) -> dict[str, str]:
    """Rebuild the history; return by id what cannot be read.

    Every run is ingested into a new database, which then replaces the content of the old one in one transaction. Until
    then, and if anything fails, the old history stays as it was.
    """
    path = path or database_path(runs_dir)
    path.parent.mkdir(parents=True, exist_ok=True)
    with _hold_lock(path, database.BUSY_SECONDS):
        return _rebuild(runs_dir, progress, path)


def _hold_lock(path: Path, wait: float) -> AbstractContextManager[object]:
    return hold_lock(path.with_name(f".{path.name}.lock"), f"{path}: its rebuild", wait=wait, private=True)


def _rebuild(runs_dir: Path, progress: Progress, path: Path) -> dict[str, str]:
    beside = path.with_name(f".{path.name}.rebuilt")
    _remove(beside)  # of a process that was killed
    try:
        with Database.open(runs_dir, beside) as rebuilt:
            ingest_all(rebuilt, runs_dir, progress)
            _replace_content(path, rebuilt)
            return dict(rebuilt.tuples("SELECT id, problems ->> '$[0]' FROM runs WHERE problems IS NOT NULL"))
    finally:
        _remove(beside)


def _remove(path: Path) -> None:
    for suffix in SUFFIXES:
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _replace_content(path: Path, rebuilt: Database) -> None:
    """Copy the pages in one transaction, and do not rename the file: other processes may have it open."""
    try:
        with connect(path, "rwc") as old, closing(old):
            check = old.execute("PRAGMA quick_check(1)").fetchone()[0]
        if check != "ok":
            raise DamagedHistoryError(path, check)
    except DamagedHistoryError:
        # Renamed instead of deleted: it may not be a history but some other file of the user.
        with suppress(FileNotFoundError):
            set_aside(path)
        _remove(path)
    deadline = time.monotonic() + database.BUSY_SECONDS

    def limit_wait(status: int, remaining: int, total: int) -> None:
        if status in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) and time.monotonic() > deadline:
            raise database.locked_error(path)

    with connect(path, "rwc") as old, closing(old):
        rebuilt.connection.backup(old, progress=limit_wait)


def find_mismatch(db: Database, run: RunDirectory, *, rows: bool = False) -> str:
    """Return how the history of a run differs from its journal; empty if it does not.

    The checksum shows whether the journal is the one that was ingested. With `rows`, the journal is also ingested
    again in memory, and every row is compared.
    """
    stored = db.row("SELECT * FROM ingested WHERE run = ?", (run.id,))
    if stored is None:
        return "is not in the history"
    position = Position(stored["journal"], stored["lines"], stored["checksum"], stored["ends"])
    if position.offset and _read_position(run, position.offset) != position:
        return "its journal is not the one that was ingested"
    if not rows:
        return ""
    with closing(Database.in_memory()) as again:
        ingest_run(db, run)
        ingest_run(again, run)
        offsets = [each.rows("SELECT journal FROM ingested WHERE run = ?", (run.id,))[0][0] for each in (db, again)]
        if offsets[0] != offsets[1]:
            return ""  # it has just written, and is compared when it rests
        for table, sql in ROWS.items():
            if _hash_rows(db, sql, run.id) != _hash_rows(again, sql, run.id):
                return f"its {table} differ from its journal"
        totals = zip(db.tuples(TOTALS, (run.id,)), again.tuples(TOTALS, (run.id,)), strict=True)
        if any(abs(one - other) > TOLERANCE * size for (one, size), (other, _) in totals):
            return "its rollups differ from its journal"
    return ""


def find_mismatches(db: Database, runs_dir: Path, *, rows: bool = False) -> Iterator[tuple[RunDirectory, str]]:
    """Yield the runs whose history differs from their journals."""
    for run in list_runs(runs_dir):
        if mismatch := find_mismatch(db, run, rows=rows):
            yield run, mismatch


def _read_position(run: RunDirectory, offset: int) -> Position | None:
    with suppress(UnreadableFileError, ReplacedFileError, OSError):
        file = open_file(run.journal)
        if file is not None:
            with file:
                return advance(file, Position(), offset)
    return None


def _hash_rows(db: Database, sql: str, run_id: str) -> str:
    digest = blake2b(digest_size=16)
    cursor = db.connection.cursor()
    cursor.row_factory = None
    for row in cursor.execute(sql, (run_id,)):
        digest.update(repr(row).encode(errors="surrogatepass"))
    return digest.hexdigest()
