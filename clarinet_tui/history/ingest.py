"""From journals into the database: each line exactly once, whoever reads it, and however often it is tried.

A piece of the journal is read without a lock; then one transaction moves the stored offset from where the piece
begins to where it ends, and writes its rows. If somebody else has moved it first, nothing is written.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from clarinet_tui.history.batch_writer import record
from clarinet_tui.history.database import Database
from clarinet_tui.history.journal_batches import Batch, read_batch
from clarinet_tui.history.run_rows import ingest_annotations, register, surroundings
from clarinet_tui.runs.atomic_files import modified, size_of
from clarinet_tui.runs.directory import ANNOTATIONS, JOURNAL, RunDirectory, all_ids, all_runs

Progress = Callable[[int, int, str], None]
"""Runs done, runs in all, and the one under way."""


def ingest_run(db: Database, run: RunDirectory, *, limit_seconds: float | None = None) -> int:
    """What the run has said since the last time; the number of new records."""
    db.renew()
    limit = None if limit_seconds is None else time.monotonic() + limit_seconds
    count = ingest_annotations(db, run, _known(db, run)[2])
    while True:
        offset, columns, _ = _known(db, run)
        if size_of(run.journal) < offset:
            _begin_anew(db, run)
            continue
        batch = read_batch(run, offset, columns)
        if batch.end == batch.start:
            return count
        if _commit(db, run, batch):
            count += batch.records
        if limit is not None and time.monotonic() >= limit:
            return count


def _known(db: Database, run: RunDirectory) -> tuple[int, list[str] | None, int]:
    """How far journal and annotations were read."""
    while True:
        row = db.row("SELECT journal, columns, annotations FROM ingested WHERE run = ?", (run.id,))
        if row is not None:
            columns = msgspec.json.decode(row["columns"], type=list[str]) if row["columns"] else None
            return row["journal"], columns, row["annotations"]
        register(db, run)


def _commit(db: Database, run: RunDirectory, batch: Batch) -> bool:
    columns = msgspec.json.encode(batch.columns).decode() if batch.columns is not None else None
    facts: dict[str, Any] = {"heard": modified(run.journal)}
    if batch.beginnings:
        facts |= surroundings(run)
    with db.transaction() as connection:
        moved = connection.execute(
            "UPDATE ingested SET journal = ?, columns = ? WHERE run = ? AND journal = ?",
            (batch.end, columns, run.id, batch.start),
        )
        if moved.rowcount == 0:
            return False
        record(connection, run.id, batch, facts)
    return True


def _begin_anew(db: Database, run: RunDirectory) -> None:
    """The journal is shorter than what was read of it: the directory was exchanged for another."""
    forget(db, run.id)
    register(db, run)


def forget(db: Database, run_id: str) -> None:
    """Remove a run from the history; its directory is not touched."""
    with db.transaction() as connection:
        connection.execute("DELETE FROM runs WHERE id = ?", (run_id,))


def ingest_all(db: Database, runs_dir: Path) -> int:
    """Every run that has something new and can be read. Runs whose directory is gone are forgotten."""
    db.renew()
    # What is known was there before; so what is not there after that is gone, and not new.
    known = {row[0]: row[1:] for row in db.tuples("SELECT run, journal, annotations FROM ingested")}
    ids = all_ids(runs_dir)
    count = 0
    for name in ids:
        place = f"{runs_dir}/{name}"
        if known.pop(name, None) != (size_of(f"{place}/{JOURNAL}"), size_of(f"{place}/{ANNOTATIONS}")):
            with suppress(OSError):
                count += ingest_run(db, RunDirectory(runs_dir, name))
    # With no run left at all it is more likely that the disk is not mounted.
    for gone in known if ids else ():
        forget(db, gone)
    return count


def reindex(
    runs_dir: Path, progress: Progress = lambda done, total, under_way: None, path: Path | None = None
) -> dict[str, str]:
    """Make the whole database anew from the run directories. Others may have it open, and go on.

    Runs that cannot be read keep none of the others out; why, by their ids.
    """
    from clarinet_tui.history.rebuild import emptied

    unread: dict[str, str] = {}
    with emptied(Path(runs_dir), path) as db:
        runs = all_runs(runs_dir)
        for done, run in enumerate(runs):
            progress(done, len(runs), run.id)
            try:
                ingest_run(db, run)
            except OSError as error:
                unread[run.id] = f"{error.filename or run.path}: {error.strerror}"
        progress(len(runs), len(runs), "")
    return unread
