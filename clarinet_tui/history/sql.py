"""Run a user's SQL statement on the history; it can only read, and its time is limited."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from clarinet_tui.history.database import Database
from clarinet_tui.history.database import explain_errors as explain_database_errors
from core.errors import InputError

READING = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE})
PRAGMAS = frozenset({"table_list", "table_info", "table_xinfo", "index_list", "index_info", "foreign_key_list"})
"""Pragmas that describe tables."""
FILE_ERRORS = frozenset(
    {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL}
)
"""Errors of the database, and not of the statement."""
MAX_LENGTH = 100_000_000
"""Bytes of a value."""
STEPS = 10_000
"""Instructions of SQLite's virtual machine between two looks at the clock."""


def select(db: Database, statement: str, timeout: float) -> tuple[list[str], Iterator[tuple[Any, ...]]]:
    """Return the names of the columns, each once, and the rows, which are read while they are used.

    Raise InputError if the statement is wrong, does anything but read, or computes longer than `timeout` seconds, not
    counting the time in which the caller uses the rows. The connection can only read afterwards.
    """
    connection, deadline = db.connection, time.monotonic() + timeout

    @contextmanager
    def explain_errors() -> Iterator[None]:
        try:
            with explain_database_errors(db.path):
                try:
                    yield
                except sqlite3.Error as error:
                    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
                    if code in FILE_ERRORS:
                        raise
                    if code == sqlite3.SQLITE_INTERRUPT and time.monotonic() <= deadline:
                        raise KeyboardInterrupt from None  # SQLite has caught it in the progress handler
                    raise InputError(_describe(error, code, timeout)) from error
        except sqlite3.Warning as error:  # Python's name for more than one statement
            raise InputError(f"SQL: {error}") from error

    connection.execute("PRAGMA query_only = on")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_LENGTH)
    connection.text_factory = lambda text: text.decode(errors="replace")
    connection.set_progress_handler(lambda: time.monotonic() > deadline, STEPS)
    connection.set_authorizer(_authorize)
    cursor = connection.cursor()
    cursor.row_factory = None
    with explain_errors():
        cursor.execute(statement.replace("\0", " ").encode(errors="replace").decode())
    if cursor.description is None:
        raise InputError("SQL: expected a SELECT statement")

    def read_rows() -> Iterator[tuple[Any, ...]]:
        nonlocal deadline
        while True:
            with explain_errors():
                rows = cursor.fetchmany(100)
            if not rows:
                return
            paused = time.monotonic()
            yield from rows
            deadline += time.monotonic() - paused

    return _unique([name for name, *_ in cursor.description]), read_rows()


def _authorize(action: int, first: str | None, second: str | None, database: str | None, trigger: str | None) -> int:
    is_allowed = action in READING or (action == sqlite3.SQLITE_PRAGMA and first in PRAGMAS)
    if action == sqlite3.SQLITE_FUNCTION:
        is_allowed = second != "load_extension"
    if action == sqlite3.SQLITE_UPDATE:
        # So SQLite names the declaration of json_each and the like. A real update of this table is always refused.
        is_allowed = first == "sqlite_master"
    return sqlite3.SQLITE_OK if is_allowed else sqlite3.SQLITE_DENY


def _describe(error: sqlite3.Error, code: int, timeout: float) -> str:
    if code in (sqlite3.SQLITE_AUTH, sqlite3.SQLITE_READONLY):
        return "SQL: expected a statement that only reads, such as SELECT"
    if code == sqlite3.SQLITE_INTERRUPT:
        return f"SQL: stopped after {timeout:g} s: simplify the statement, or give a longer --timeout"
    return f"SQL: {error}"


def _unique(names: list[str]) -> list[str]:
    """Number the repetitions of a name: a, a_2."""
    found: list[str] = []
    for name in names:
        number, unique = 1, name
        while unique in found:
            number += 1
            unique = f"{name}_{number}"
        found.append(unique)
    return found
