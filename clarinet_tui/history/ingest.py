"""Copy journals and annotations into the database, each line exactly once, with any number of processes.

A batch of journal lines is read without a lock; then one transaction moves the stored offset from the start of the
batch to its end and writes its rows. If another process has moved the offset first, nothing is written. A file that
does not begin with what was ingested was replaced: its run is ingested again from the start.
"""

import os
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import msgspec

from clarinet_tui.history.batch_writer import write_batch
from clarinet_tui.history.bulk_ingest import ingest_parts, is_worthwhile
from clarinet_tui.history.database import Database
from clarinet_tui.history.journal_batches import Batch, Position, ReplacedFileError, read_batch
from clarinet_tui.history.run_rows import (
    ingest_annotations,
    insert_run,
    read_run_columns,
    store_missing_configs,
    update_problems,
)
from clarinet_tui.runs.directory import ANNOTATIONS, JOURNAL, RunDirectory, list_run_ids
from clarinet_tui.runs.files import UnreadableFileError, file_size, modified_time

Progress = Callable[[int, int], None]
"""Called with the runs done and the runs in all."""


def ingest_run(db: Database, run: RunDirectory, *, limit_seconds: float | None = None) -> int:
    """Ingest what is new in a run's journal and annotations; return the number of rows.

    A file that cannot be read is named in the run's problems.
    """
    db.reopen_if_replaced()
    deadline = None if limit_seconds is None else time.monotonic() + limit_seconds
    count = 0
    while True:
        try:
            journal, columns, annotations = _read_positions(db, run)
            with suppress(UnreadableFileError):
                count += ingest_annotations(db, run, annotations)
            batch = read_batch(run, journal, columns)
        except ReplacedFileError:
            delete_run(db, run.id)
            continue
        except (OSError, UnreadableFileError):
            with db.transaction() as connection:
                update_problems(connection, run)
            return count
        if batch.end.offset == batch.start.offset:
            _record_time(db, run)
            return count
        if _commit(db, run, batch):
            count += batch.rows
        if deadline is not None and time.monotonic() >= deadline:
            return count


def _read_positions(db: Database, run: RunDirectory) -> tuple[Position, list[str] | None, Position]:
    """Return the journal's position, its columns there, and the annotations' position; insert the run if it is new."""
    while True:
        row = db.row("SELECT * FROM ingested WHERE run = ?", (run.id,))
        if row is not None:
            columns = msgspec.json.decode(row["columns"], type=list[str]) if row["columns"] else None
            journal = Position(row["journal"], row["lines"], row["checksum"], row["ends"])
            return journal, columns, Position(row["annotations"], ends=row["annotation_ends"])
        insert_run(db, run)


def _commit(db: Database, run: RunDirectory, batch: Batch) -> bool:
    columns = msgspec.json.encode(batch.columns).decode() if batch.columns is not None else None
    run_columns, config = read_run_columns(run) if batch.attempt_starts else ({}, None)
    run_columns["heard"] = modified_time(run.journal)
    end = batch.end
    with db.transaction() as connection:
        moved = connection.execute(
            """UPDATE ingested SET journal = ?, columns = ?, lines = ?, checksum = ?, ends = ?
            WHERE run = ? AND journal = ?""",
            (end.offset, columns, end.lines, end.checksum, end.ends, run.id, batch.start.offset),
        )
        if moved.rowcount == 0:
            return False
        write_batch(connection, run.id, batch, run_columns)
        if config is not None:
            connection.execute("INSERT OR REPLACE INTO configs VALUES (?, ?)", (run.id, config))
        if batch.attempt_starts or batch.has_damage:
            update_problems(connection, run)
    return True


def _record_time(db: Database, run: RunDirectory) -> None:
    """Store when the journal was changed last, so that `ingest_all` need not read it again."""
    changed = modified_time(run.journal)
    if db.row("SELECT 1 FROM runs WHERE id = ? AND heard IS NOT ? AND said <> 'queued'", (run.id, changed)):
        with db.transaction() as connection:
            connection.execute("UPDATE runs SET heard = ? WHERE id = ?", (changed, run.id))


def delete_run(db: Database, run_id: str) -> None:
    """Delete a run from the history; its directory is not touched."""
    with db.transaction() as connection:
        connection.execute("DELETE FROM runs WHERE id = ?", (run_id,))


def ingest_all(db: Database, runs_dir: Path, progress: Progress = lambda done, total: None) -> int:
    """Ingest every readable run that has changed, delete runs without a directory, and return the number of rows."""
    db.reopen_if_replaced()
    # Read before the directories are listed: an ingested run that is not listed was deleted, and is not new.
    sql = "SELECT run, journal, annotations, heard FROM ingested JOIN runs ON runs.id = run"
    ingested = {row[0]: row[1:] for row in db.tuples(sql)}
    ids = list_run_ids(runs_dir)
    sizes = {run_id: _read_sizes(f"{runs_dir}/{run_id}") for run_id in ids}
    new = {run_id: size[0] for run_id, size in sizes.items() if run_id not in ingested}
    changed = [run_id for run_id in ids if ingested.pop(run_id, None) != sizes[run_id]]
    total, count = len(changed), 0
    if is_worthwhile(new):
        with closing(ingest_parts(db, runs_dir, new)) as parts:
            for merged, rows in parts:
                changed, count = [run_id for run_id in changed if run_id not in merged], count + rows
                progress(total - len(changed), total)
    for done, run_id in enumerate(changed, total - len(changed)):
        progress(done, total)
        count += ingest_run(db, RunDirectory(runs_dir, run_id))
    progress(total, total)
    # If there is no run at all, the disk is probably not mounted.
    for run_id in ingested if ids else ():
        delete_run(db, run_id)
    store_missing_configs(db, runs_dir)
    return count


def _read_sizes(path: str) -> tuple[int, int, float | None]:
    """Return the sizes of journal and annotations, and when the journal was changed."""
    try:
        journal = os.stat(f"{path}/{JOURNAL}")  # noqa: PTH116 - Path.stat is too slow for thousands of runs
    except OSError:
        return 0, file_size(f"{path}/{ANNOTATIONS}"), None
    return journal.st_size, file_size(f"{path}/{ANNOTATIONS}"), journal.st_mtime
