"""The history's SQLite database. It is derived from the run directories and can be rebuilt at any time."""

import atexit
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, Self

from clarinet_tui.history.schema import SCHEMA, create_tables, read_schema
from clarinet_tui.runs.files import file_size
from clarinet_tui.runs.ownership import own_path
from core.errors import InputError

DATABASE_NAME = "clarinet.db"
DATABASE_VARIABLE = "CLARINET_DB"
"""The environment variable with another path, such as one on a local disk."""
BUSY_SECONDS = 30.0
COMPLETION_SECONDS = 0.2
Parameters = Sequence[Any] | Mapping[str, Any]


def database_path(runs_dir: Path) -> Path:
    """Return the path of this user's database: SQLite's files beside it belong to who has opened it last."""
    return Path(os.environ.get(DATABASE_VARIABLE) or own_path(Path(runs_dir), DATABASE_NAME))


class Database:
    """A connection for one thread. Writes are immediate transactions; reads see the last committed state."""

    def __init__(self, path: Path, connection: sqlite3.Connection, *, read_only: bool) -> None:
        self.path = path
        self.read_only = read_only
        self.connection = connection
        self._identity = _identity(path)

    @classmethod
    def open(cls, runs_dir: Path, path: Path | None = None) -> Self:
        """Open for reading and writing; create the database if there is none.

        Raise OutdatedHistoryError if an older version has made it: `reindex.open_history` rebuilds it.
        """
        path = path or database_path(runs_dir)
        if path.parent.exists() and not path.parent.is_dir():
            raise InputError(f"{path.parent}: is not a directory")
        path.parent.mkdir(parents=True, exist_ok=True)
        with connect(path, "rwc") as connection:
            if read_schema(connection) is None:
                _create_once(connection)
            check_schema(connection, path)
            return cls(path, connection, read_only=False)

    @classmethod
    def in_memory(cls) -> Self:
        """Open an empty database that ends with its connection."""
        connection = sqlite3.connect(":memory:", isolation_level=None)
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA foreign_keys = on")
        _create_once(connection)
        return cls(Path(":memory:"), connection, read_only=False)

    @classmethod
    def open_read_only(cls, runs_dir: Path, path: Path | None = None) -> Self:
        """Open for reading only; raise InputError if there is no database, or an older one."""
        path = path or database_path(runs_dir)
        if not path.exists():
            raise InputError(f"{path}: does not exist: start a run, or build the history with `clarinet reindex`")
        with connect(path, "ro") as connection:
            check_schema(connection, path)
            return cls(path, connection, read_only=True)

    def rows(self, sql: str, parameters: Parameters = ()) -> list[sqlite3.Row]:
        with explain_errors(self.path):
            return self.connection.execute(sql, parameters).fetchall()

    def tuples(self, sql: str, parameters: Parameters = ()) -> list[tuple[Any, ...]]:
        """Return rows without column names: faster for many rows."""
        with explain_errors(self.path):
            cursor = self.connection.cursor()
            cursor.row_factory = None
            return cursor.execute(sql, parameters).fetchall()

    def row(self, sql: str, parameters: Parameters = ()) -> sqlite3.Row | None:
        with explain_errors(self.path):
            row: sqlite3.Row | None = self.connection.execute(sql, parameters).fetchone()
            return row

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Commit all changes or none; other writers wait meanwhile."""
        with explain_errors(self.path), _transaction(self.connection):
            yield self.connection

    def reopen_if_replaced(self) -> None:
        """Open the file again if it was deleted or replaced: writes to the old one would be lost."""
        if _identity(self.path) == self._identity:
            return
        if not self.path.parent.is_dir():  # moved away: opening would create it again
            raise HistoryError(f"{self.path.parent}: does not exist any more")
        # First: closing drops all locks of this process on the -shm file, which the new connection may share. Another
        # process would then truncate it, and the next access to its memory would end this process (SIGBUS).
        self.connection.close()
        opened = (self.open_read_only if self.read_only else self.open)(self.path.parent, self.path)
        self.connection, self._identity = opened.connection, opened._identity

    def close(self) -> None:
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class HistoryError(InputError):
    """The database cannot be used now; runs are not affected."""


class OutdatedHistoryError(HistoryError):
    """An older version of Clarinet has made the database, or it is not complete yet."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path}: made by an older version of Clarinet: `clarinet ls` rebuilds it")


class DamagedHistoryError(HistoryError):
    """The database must be rebuilt."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"{path}: not a readable history ({reason}): `clarinet reindex` rebuilds it from the run directories"
        )


def check_schema(connection: sqlite3.Connection, path: Path) -> None:
    """Raise OutdatedHistoryError for an older schema or none, InputError for a newer one."""
    version = read_schema(connection)
    if version is None or version < SCHEMA:
        raise OutdatedHistoryError(path)
    if version > SCHEMA:
        raise InputError(
            f"{path}: made by a newer version of Clarinet (schema {version}, this one has {SCHEMA}): "
            "update Clarinet, or give --db another path"
        )


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _create_once(connection: sqlite3.Connection) -> None:
    """Create the tables. Of several processes one does it, and the others find them."""
    with _transaction(connection):
        if read_schema(connection) is None:
            create_tables(connection)


@contextmanager
def explain_errors(path: Path) -> Iterator[None]:
    """Raise HistoryError instead of SQLite's errors."""
    try:
        yield
    except (sqlite3.ProgrammingError, sqlite3.IntegrityError):
        raise
    except sqlite3.DatabaseError as error:
        raise _describe(path, error) from error


def _describe(path: Path, error: sqlite3.DatabaseError) -> HistoryError:
    extended_code = getattr(error, "sqlite_errorcode", 0)
    code = extended_code & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return locked_error(path)
    if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and _disk_is_full(path)):
        return HistoryError(
            f"{path}: the disk is full: runs continue, and the history is updated when there is room again"
        )
    if code == sqlite3.SQLITE_IOERR and extended_code != sqlite3.SQLITE_IOERR_SHORT_READ:
        return HistoryError(
            f"{path}: disk error ({error}): runs continue; try again, or give --db a path on another disk"
        )
    if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        return HistoryError(f"{path}: cannot be opened for writing: give --db a writable path")
    return DamagedHistoryError(path, str(error))


def locked_error(path: Path) -> HistoryError:
    return HistoryError(f"{path}: locked by another process for more than {BUSY_SECONDS:.0f} s: try again")


def _disk_is_full(path: Path) -> bool:
    """For its memory-mapped file, SQLite reports a full disk as any I/O error."""
    try:
        return os.statvfs(path.parent).f_bavail == 0
    except OSError:
        return False


@contextmanager
def connect(path: Path, mode: str) -> Iterator[sqlite3.Connection]:
    """Open a connection in the mode "ro" or "rwc", and close it again if the caller cannot use it."""
    if path.exists() and file_size(path) == 0 and file_size(path.with_name(path.name + "-wal")) > 0:
        # Other processes have the file open: they keep it locked and write to its WAL.
        raise DamagedHistoryError(path, "it was truncated")
    with explain_errors(path), ExitStack() as on_error:
        uri = f"{path.absolute().as_uri()}?mode={mode}"
        connection = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
        on_error.callback(connection.close)
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA foreign_keys = on")
        connection.execute("PRAGMA temp_store = memory")
        if mode == "ro":
            connection.execute("PRAGMA query_only = on")
        else:
            # Others can read during a write. What a power failure loses is ingested again from the journals.
            connection.execute("PRAGMA journal_mode = wal")
            connection.execute("PRAGMA synchronous = normal")
            connection.execute("PRAGMA wal_autocheckpoint = 4000")
        yield connection
        on_error.pop_all()


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino


def read_run_labels(path: Path, prefix: str, limit: int) -> dict[str, str]:
    """Return method, task and state by id of the newest runs with this id prefix, for shell completion.

    It never writes, and returns nothing on any error or if the database is locked.
    """
    sql = f"""SELECT id, {_LABEL} FROM runs WHERE id >= ? AND id < ? || '~'
        ORDER BY created DESC, id DESC LIMIT ?"""
    return _read_labels(path, sql, (prefix, prefix, limit))


def read_name_labels(path: Path, prefix: str, limit: int) -> dict[str, str]:
    """Return the same by name, of the newest runs whose name begins with the prefix and is that of no other run."""
    sql = f"""SELECT name, {_LABEL} FROM runs WHERE name <> '' AND substr(name, 1, length(?)) = ?
        GROUP BY name HAVING count(*) = 1 ORDER BY created DESC, id DESC LIMIT ?"""
    return _read_labels(path, sql, (prefix, prefix, limit))


_LABEL = "ifnull(method, '?') || ' ' || ifnull(task, '?') || ' ' || state"


def _read_labels(path: Path, sql: str, parameters: tuple[str, str, int]) -> dict[str, str]:
    try:
        uri = f"{path.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True, timeout=COMPLETION_SECONDS)) as connection:
            return dict(connection.execute(sql, parameters).fetchall())
    except (sqlite3.Error, UnicodeEncodeError):
        return {}


def temporary_database(runs_dir: Path) -> Path | None:
    """Return the path of a temporary database, removed at exit; None if the usual one can be written."""
    path = database_path(runs_dir)
    if not path.parent.is_dir() or os.access(path.parent, os.W_OK):
        return None
    folder = tempfile.mkdtemp(prefix="clarinet-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder) / DATABASE_NAME
