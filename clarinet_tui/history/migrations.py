"""Migrate an older database, with a backup beside it; refuse a newer one."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from clarinet_tui.history.schema import MIGRATION_SET, MIGRATIONS
from core.errors import InputError


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Apply missing migrations. Of several processes one migrates, and the others find it done."""
    if len(check_schema(connection, path)) == len(MIGRATIONS):
        return
    from sqlite_utils import Database as Tables

    from clarinet_tui.history.schema import migrations

    with transaction(connection):
        applied = check_schema(connection, path)  # again, now that no other process migrates
        if 0 < len(applied) < len(MIGRATIONS):
            _back_up(path, path.with_name(f"{path.name}.before-{MIGRATIONS[len(applied)]}"))
        migrations().apply(Tables(connection, recursive_triggers=False, execute_plugins=False))


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit all changes or none; other writers wait meanwhile."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def check_schema(connection: sqlite3.Connection, path: Path, *, exact: bool = False) -> list[str]:
    """Return the applied migrations; raise InputError for unknown ones, and with `exact` for missing ones."""
    table_exists = connection.execute("SELECT 1 FROM sqlite_master WHERE name = '_sqlite_migrations'").fetchone()
    sql = "SELECT name FROM _sqlite_migrations WHERE migration_set = ? ORDER BY id"
    applied = [name for (name,) in connection.execute(sql, (MIGRATION_SET,))] if table_exists else []
    unknown = [name for name in applied if name not in MIGRATIONS]
    if unknown:
        raise InputError(
            f"{path}: made by a newer version of Clarinet (schema {unknown[-1]}, this one has {MIGRATIONS[-1]}): "
            "update Clarinet, or give --db another path"
        )
    if exact and len(applied) < len(MIGRATIONS):
        raise InputError(f"{path}: made by an older version of Clarinet: `clarinet ls` updates it")
    return applied


def _back_up(path: Path, backup: Path) -> None:
    """Copy the database to a temporary name and rename it. The caller's transaction keeps other writers out."""
    partial = backup.with_name(f".{backup.name}.partial")
    partial.unlink(missing_ok=True)
    with (
        closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as source,
        closing(sqlite3.connect(partial)) as copy,
    ):
        source.backup(copy)
    partial.replace(backup)
