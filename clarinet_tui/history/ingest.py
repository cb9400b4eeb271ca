"""Copy journals and annotations into the database, each line exactly once, with any number of processes.

A batch of journal lines is read without a lock; then one transaction moves the stored offset from the start of the
batch to its end and writes its rows. If another process has moved the offset first, nothing is written.
"""

import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from clarinet_tui.history.batch_writer import write_batch
from clarinet_tui.history.database import Database
from clarinet_tui.history.journal_batches import Batch, read_batch
from clarinet_tui.history.run_rows import ingest_annotations, insert_run, read_run_columns
from clarinet_tui.runs.atomic_files import file_size, modified_time
from clarinet_tui.runs.directory import ANNOTATIONS, JOURNAL, RunDirectory, list_run_ids


def ingest_run(db: Database, run: RunDirectory, *, limit_seconds: float | None = None) -> int:
    """Ingest what is new in a run's journal and annotations; return the number of lines."""
    db.reopen_if_replaced()
    deadline = None if limit_seconds is None else time.monotonic() + limit_seconds
    count = ingest_annotations(db, run, _read_offsets(db, run)[2])
    while True:
        offset, columns, _ = _read_offsets(db, run)
        if file_size(run.journal) < offset:
            delete_run(db, run.id)  # its directory was replaced: ingest it from the start
            continue
        batch = read_batch(run, offset, columns)
        if batch.end == batch.start:
            return count
        if _commit(db, run, batch):
            count += batch.lines
        if deadline is not None and time.monotonic() >= deadline:
            return count


def _read_offsets(db: Database, run: RunDirectory) -> tuple[int, list[str] | None, int]:
    """Return the journal's offset, its columns there, and the annotations' offset; insert the run if it is new."""
    while True:
        row = db.row("SELECT journal, columns, annotations FROM ingested WHERE run = ?", (run.id,))
        if row is not None:
            columns = msgspec.json.decode(row["columns"], type=list[str]) if row["columns"] else None
            return row["journal"], columns, row["annotations"]
        insert_run(db, run)


def _commit(db: Database, run: RunDirectory, batch: Batch) -> bool:
    columns = msgspec.json.encode(batch.columns).decode() if batch.columns is not None else None
    run_columns: dict[str, Any] = {"heard": modified_time(run.journal)}
    if batch.attempt_starts:
        run_columns |= read_run_columns(run)
    with db.transaction() as connection:
        moved = connection.execute(
            "UPDATE ingested SET journal = ?, columns = ? WHERE run = ? AND journal = ?",
            (batch.end, columns, run.id, batch.start),
        )
        if moved.rowcount == 0:
            return False
        write_batch(connection, run.id, batch, run_columns)
    return True


def delete_run(db: Database, run_id: str) -> None:
    """Delete a run from the history; its directory is not touched."""
    with db.transaction() as connection:
        connection.execute("DELETE FROM runs WHERE id = ?", (run_id,))


def ingest_all(db: Database, runs_dir: Path) -> int:
    """Ingest every readable run that has changed, delete runs without a directory, and return the number of lines."""
    db.reopen_if_replaced()
    # Read before the directories are listed: an ingested run that is not listed was deleted, and is not new.
    ingested = {row[0]: row[1:] for row in db.tuples("SELECT run, journal, annotations FROM ingested")}
    ids = list_run_ids(runs_dir)
    count = 0
    for run_id in ids:
        path = f"{runs_dir}/{run_id}"
        if ingested.pop(run_id, None) != (file_size(f"{path}/{JOURNAL}"), file_size(f"{path}/{ANNOTATIONS}")):
            with suppress(OSError):
                count += ingest_run(db, RunDirectory(runs_dir, run_id))
    # If there is no run at all, the disk is probably not mounted.
    for run_id in ingested if ids else ():
        delete_run(db, run_id)
    return count
