"""The history's database: derived from the journals, so that it may be lost, and never silently wrong."""

import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from clarinet_tui.history.migrations import bring_up_to_date, check_schema
from clarinet_tui.runs.atomic_files import size_of
from core.errors import InputError

NAME = "clarinet.db"
VARIABLE = "CLARINET_DB"
"""The environment variable that puts the database elsewhere, such as on a local disk."""
BUSY_SECONDS = 30.0
Parameters = Sequence[Any] | Mapping[str, Any]


def database_path(runs_dir: Path) -> Path:
    named = os.environ.get(VARIABLE)
    return Path(named) if named else Path(runs_dir) / NAME


class Database:
    """One connection, for one thread. Writes are immediate transactions, reads see the last committed state."""

    def __init__(self, path: Path, connection: sqlite3.Connection, *, read_only: bool) -> None:
        self.path = path
        self.read_only = read_only
        self.connection = connection
        self._identity = _identity(path)

    @classmethod
    def open(cls, runs_dir: Path, path: Path | None = None) -> Self:
        """For reading and writing; made or migrated where that is needed."""
        path = path or database_path(runs_dir)
        _refuse_hollow(path)
        with explained(path):
            if path.parent.exists() and not path.parent.is_dir():
                raise InputError(f"{path.parent}: is a file, and no directory")
            path.parent.mkdir(parents=True, exist_ok=True)
            connection = _connect(f"{path.absolute().as_uri()}?mode=rwc")
            try:
                _set_up(connection)
                bring_up_to_date(connection, path)
            except BaseException:
                connection.close()
                raise
        return cls(path, connection, read_only=False)

    @classmethod
    def open_read_only(cls, runs_dir: Path, path: Path | None = None) -> Self:
        """For those who only look. Whoever comes first opens it for writing: only that makes the file."""
        path = path or database_path(runs_dir)
        if not path.exists():
            raise InputError(f"{path}: there is no history yet: start a run, or say `clarinet reindex`")
        _refuse_hollow(path)
        with explained(path):
            connection = _connect(f"{path.absolute().as_uri()}?mode=ro")
            try:
                connection.execute("PRAGMA query_only = on")
                check_schema(connection, path, exact=True)
            except BaseException:
                connection.close()
                raise
        return cls(path, connection, read_only=True)

    def rows(self, sql: str, parameters: Parameters = ()) -> list[sqlite3.Row]:
        with explained(self.path):
            return self.connection.execute(sql, parameters).fetchall()

    def tuples(self, sql: str, parameters: Parameters = ()) -> list[tuple[Any, ...]]:
        """Many rows, without their names."""
        with explained(self.path):
            cursor = self.connection.cursor()
            cursor.row_factory = None
            return cursor.execute(sql, parameters).fetchall()

    def row(self, sql: str, parameters: Parameters = ()) -> sqlite3.Row | None:
        with explained(self.path):
            found: sqlite3.Row | None = self.connection.execute(sql, parameters).fetchone()
            return found

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing, and nobody else writes meanwhile."""
        with explained(self.path):
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise

    def renew(self) -> None:
        """Open anew if the file was deleted or exchanged since: what is written to the old one nobody reads."""
        if _identity(self.path) == self._identity:
            return
        opened = (self.open_read_only if self.read_only else self.open)(self.path.parent, self.path)
        self.connection.close()
        self.connection, self._identity = opened.connection, opened._identity

    def close(self) -> None:
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class HistoryError(InputError):
    """The database cannot be used now; the sentence says what to do. The runs are not touched by it."""


class DamagedHistory(HistoryError):  # noqa: N818 - what it is, not what went wrong
    """It cannot be used at all: it has to be made anew."""


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """SQLite's errors as sentences."""
    try:
        yield
    except (sqlite3.ProgrammingError, sqlite3.IntegrityError):
        raise
    except sqlite3.DatabaseError as error:
        raise _in_words(path, error) from error


def _in_words(path: Path, error: sqlite3.DatabaseError) -> HistoryError:
    exactly = getattr(error, "sqlite_errorcode", 0)
    code = exactly & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return HistoryError(f"{path}: locked by another program for more than {BUSY_SECONDS:.0f} s: try again")
    if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and _disk_is_full(path)):
        return HistoryError(f"{path}: the disk is full: the runs go on, and the history catches up when there is room")
    if code == sqlite3.SQLITE_IOERR and exactly != sqlite3.SQLITE_IOERR_SHORT_READ:
        return HistoryError(
            f"{path}: its disk fails ({error}): the runs go on; try again, or keep it elsewhere with --db"
        )
    if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        return HistoryError(f"{path}: cannot be opened for writing: give --db a path on a disk of your own")
    return damaged(path, str(error))


def _disk_is_full(path: Path) -> bool:
    """SQLite tells the one file that it writes by memory as any other error."""
    try:
        return os.statvfs(path.parent).f_bavail == 0
    except OSError:
        return False


def damaged(path: Path, why: str) -> DamagedHistory:
    return DamagedHistory(f"{path}: not a readable history ({why}): `clarinet reindex` makes it anew from the runs")


def _refuse_hollow(path: Path) -> None:
    """A file that was emptied while others have it open: they keep it locked for ever, and write to its log."""
    if path.exists() and size_of(path) == 0 and size_of(path.with_name(path.name + "-wal")) > 0:
        raise damaged(path, "it was emptied")


def _connect(address: str) -> sqlite3.Connection:
    connection = sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA foreign_keys = on")
    connection.execute("PRAGMA temp_store = memory")
    return connection


def _set_up(connection: sqlite3.Connection) -> None:
    """Readers read while one writes; what a power cut takes is read from the journals again."""
    connection.execute("PRAGMA journal_mode = wal")
    connection.execute("PRAGMA synchronous = normal")
    connection.execute("PRAGMA wal_autocheckpoint = 4000")


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino
