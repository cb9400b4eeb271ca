"""Runs for tests, and the whole content of a history, to compare it with another."""

import sqlite3
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from clarinet_tui.history.database import DATABASE_NAME, Database
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.journal_writer import JournalWriter
from clarinet_tui.runs.lock import LockOwner, current_process
from core.events import Event
from core.resolve import resolve

TABLES = ("runs", "evaluations", "iterations", "events", "tags", "notes", "rollups", "ingested", "configs")


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


def remove_migrations(connection: sqlite3.Connection, first: str) -> None:
    """Give a database the schema that it had before the migration `first`."""
    added = {"runs.alarms": "0002", "runs.problems": "0004"}
    added |= {f"ingested.{name}": "0004" for name in ("lines", "checksum", "ends", "annotation_ends")}
    added |= {f"runs.{name}": "0005" for name in ("hardware", "gpu_memory", "gpu_use", "memory", "energy")}
    connection.execute("DROP TABLE configs")
    if first <= "0005":
        connection.execute("DROP TABLE samples")
    for name in (name for name, migration in added.items() if migration >= first):
        table, _, column = name.partition(".")
        connection.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
    connection.execute("DELETE FROM _sqlite_migrations WHERE name >= ?", (first,))


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
            connection.execute("UPDATE runs SET heard = NULL")
    return {table: sorted(db.tuples(f"SELECT * FROM {table}"), key=repr) for table in TABLES}
