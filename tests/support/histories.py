"""Runs for tests, and the whole content of a history, to compare it with another."""

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from clarinet_tui.history.database import DATABASE_NAME, Database
from clarinet_tui.history.ingest import ingest_all, ingest_run
from clarinet_tui.history.queries import RunRow, get_run
from clarinet_tui.history.schema import TABLES
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.journal_writer import JournalWriter
from clarinet_tui.runs.lock import LockOwner, current_process
from core.events import Event
from core.resolve import resolve


@cache
def _empty_database() -> bytes:
    """Return an empty database, made once: sqlite-utils is slow."""
    with TemporaryDirectory() as folder:
        Database.open(Path(folder)).close()
        return (Path(folder) / DATABASE_NAME).read_bytes()


def open_history(runs_dir: Path) -> Database:
    runs_dir.mkdir(parents=True, exist_ok=True)
    if not (runs_dir / DATABASE_NAME).exists():
        (runs_dir / DATABASE_NAME).write_bytes(_empty_database())
    return Database.open(runs_dir)


def ingested(runs_dir: Path) -> Database:
    """Open the history with all that the journals have."""
    db = open_history(runs_dir)
    ingest_all(db, runs_dir)
    return db


def make_outdated(database: Path) -> None:
    """Give a database the columns and the version that it has in Clarinet 0.2.0."""
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("ALTER TABLE runs RENAME COLUMN journal_state TO said")
        connection.execute("ALTER TABLE runs RENAME COLUMN journal_changed TO heard")
        connection.execute("UPDATE _sqlite_migrations SET name = '0006'")
        connection.commit()


def make_run(runs_dir: Path, id: str | None = None, **settings: Any) -> RunDirectory:  # noqa: A002
    return RunDirectory.create(runs_dir, resolve(**{"preset": "smoke", "task": "U->M"} | settings), id=id)


def write_lock(run: RunDirectory, **changes: object) -> LockOwner:
    """Write the lock file of a run as this process would, with these fields changed."""
    owner = msgspec.structs.replace(current_process(), **changes)
    run.lock.write_bytes(msgspec.json.encode(owner))
    return owner


def write_events(run: RunDirectory, events: Iterable[Event], time: float = 1000.0) -> None:
    """Write the events of one attempt."""
    with JournalWriter(run.journal, now=lambda: time) as writer:
        for event in events:
            writer.append(event)


def content(db: Database, *, with_times: bool = False) -> dict[str, list[tuple[Any, ...]]]:
    """Return all rows; without the journals' modification times unless `with_times`."""
    if not with_times:
        with db.transaction() as connection:
            connection.execute("UPDATE runs SET journal_changed = NULL")
    return {table: sorted(db.tuples(f"SELECT * FROM {table}"), key=repr) for table in TABLES}


def record_run(db: Database, *events: Event, id: str | None = None, **settings: Any) -> RunDirectory:  # noqa: A002
    """Make a run with these events among the runs of the history, and ingest it."""
    run = make_run(db.path.parent, id, **settings)
    ingest(db, run, *events)
    return run


def ingest(db: Database, run: RunDirectory, *events: Event) -> RunRow:
    """Write these events of one attempt, ingest what is new of a run, and return its row."""
    if events:
        write_events(run, events)
    ingest_run(db, run)
    return read_row(db, run.id)


def read_row(db: Database, run_id: str) -> RunRow:
    row = get_run(db, run_id)
    assert row is not None
    return row
