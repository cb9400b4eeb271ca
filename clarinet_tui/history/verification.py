"""Compare the history with the journals: by the running checksum of what was ingested, and row by row."""

from collections.abc import Iterator
from contextlib import closing, suppress
from hashlib import blake2b
from pathlib import Path

from clarinet_tui.history.database import Database
from clarinet_tui.history.ingest import delete_run, ingest_run
from clarinet_tui.history.journal_batches import Position, ReplacedFileError, advance
from clarinet_tui.runs.directory import RunDirectory, list_runs
from clarinet_tui.runs.files import UnreadableFileError, open_file

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


def find_mismatch(db: Database, run: RunDirectory, *, rows: bool = False) -> str:
    """Return how the history of a run differs from its journal; empty if it does not.

    The checksum shows whether the journal is the one that was ingested. With `rows`, the journal is also ingested
    again in memory, and every row is compared.
    """
    stored = db.row("SELECT * FROM ingested WHERE run = ?", (run.id,))
    if stored is None:
        return "is not in the history"
    position = Position(stored["journal"], stored["lines"], stored["checksum"], stored["ends"])
    if position.offset and position.ends and _read_position(run, position.offset) != position:
        return "its journal is not the one that was ingested"
    return _compare_rows(db, run) if rows else ""


def repair_run(db: Database, run: RunDirectory) -> None:
    """Ingest a run again from the start."""
    delete_run(db, run.id)
    ingest_run(db, run)


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


def _compare_rows(db: Database, run: RunDirectory) -> str:
    with closing(Database.in_memory()) as again:
        ingest_run(db, run)
        ingest_run(again, run)
        offsets = [each.rows("SELECT journal FROM ingested WHERE run = ?", (run.id,))[0][0] for each in (db, again)]
        if offsets[0] != offsets[1]:
            return ""  # it has just written, and is compared when it rests
        for table, sql in ROWS.items():
            if _hash_rows(db, sql, run.id) != _hash_rows(again, sql, run.id):
                return f"its {table} differ from its journal"
        if not _have_equal_totals(db, again, run.id):
            return "its rollups differ from its journal"
    return ""


def _have_equal_totals(db: Database, again: Database, run_id: str) -> bool:
    """Compare the sums of rollups, as far as they do not depend on the version of Python or SQLite."""
    rows = zip(db.tuples(TOTALS, (run_id,)), again.tuples(TOTALS, (run_id,)), strict=True)
    return all(abs(stored - rebuilt) <= TOLERANCE * size for (stored, size), (rebuilt, _) in rows)


def _hash_rows(db: Database, sql: str, run_id: str) -> str:
    digest = blake2b(digest_size=16)
    cursor = db.connection.cursor()
    cursor.row_factory = None
    for row in cursor.execute(sql, (run_id,)):
        digest.update(repr(row).encode(errors="surrogatepass"))
    return digest.hexdigest()
