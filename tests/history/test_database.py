"""The database file: newer, older, damaged, locked, deleted, read-only, and created concurrently."""

import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from sqlite_utils import Database as Tables
from sqlite_utils import Migrations

from clarinet_tui.history import database, schema
from clarinet_tui.history import migrations as migrate
from clarinet_tui.history.database import DATABASE_NAME, DamagedHistoryError, Database, HistoryError
from clarinet_tui.history.ingest import ingest_all, ingest_run
from clarinet_tui.history.queries import count_runs, get_run, list_runs
from clarinet_tui.history.reindex import reindex
from clarinet_tui.runs.annotations import add_tag, set_note
from core.errors import InputError
from tests.support.events import evaluation, resumed, started, step
from tests.support.histories import content, make_run, open_history, remove_migrations, write_events


def test_tables_can_be_read_with_sqlite(tmp_path: Path) -> None:
    Database.open(tmp_path).close()
    tables = Tables(tmp_path / DATABASE_NAME)
    assert {"runs", "evaluations", "iterations", "tags", "notes", "events", "rollups"} <= set(tables.table_names())
    assert tables.table("iterations").pks == ["run", "iteration"]
    assert tables.journal_mode == "wal"


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    with open_history(tmp_path) as db, db.transaction() as connection:
        connection.execute("INSERT INTO _sqlite_migrations VALUES (99, 'clarinet', '0099', 'later')")
    for open_it in (Database.open, Database.open_read_only):
        with pytest.raises(InputError, match=r"newer version of Clarinet \(schema 0099"):
            open_it(tmp_path)


def test_an_older_schema_is_migrated_with_a_backup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_run(tmp_path)
    with open_history(tmp_path) as db:
        ingest_run(db, run)

    def newer() -> Migrations:
        numbered: Migrations = first()
        numbered(name="9998")(lambda db: db.execute("ALTER TABLE runs ADD COLUMN colour TEXT DEFAULT 'red'"))
        return numbered

    first = schema.migrations
    monkeypatch.setattr(schema, "migrations", newer)
    monkeypatch.setattr(migrate, "MIGRATIONS", (*schema.MIGRATIONS, "9998"))
    with pytest.raises(InputError, match="older version"):
        Database.open_read_only(tmp_path)
    with Database.open(tmp_path) as db:
        assert [row["colour"] for row in db.rows("SELECT colour FROM runs")] == ["red"]
    copy = sqlite3.connect(tmp_path / f"{DATABASE_NAME}.before-9998")
    assert copy.execute("SELECT id FROM runs").fetchall() == [(run.id,)]
    assert "colour" not in [row[1] for row in copy.execute("PRAGMA table_info(runs)")]
    copy.close()


def test_a_failed_migration_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong() -> Migrations:
        numbered: Migrations = first()

        def halfway(db: Tables) -> None:
            db.execute("ALTER TABLE runs ADD COLUMN colour TEXT")
            raise ZeroDivisionError

        numbered(name="9998")(halfway)
        return numbered

    open_history(tmp_path).close()
    first = schema.migrations
    with monkeypatch.context() as patch:
        patch.setattr(schema, "migrations", wrong)
        patch.setattr(migrate, "MIGRATIONS", (*schema.MIGRATIONS, "9998"))
        with pytest.raises(ZeroDivisionError):
            Database.open(tmp_path)
    with Database.open(tmp_path) as db:
        assert "colour" not in [row["name"] for row in db.rows("PRAGMA table_info(runs)")]


def test_several_processes_create_it_at_once(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from clarinet_tui.history.database import Database
print(Database.open(Path(sys.argv[1])).rows("SELECT count(*) AS n FROM runs")[0]["n"])
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    assert [process.communicate()[0] for process in processes] == ["0\n"] * 4


@pytest.mark.parametrize("garbage", [b"garbage" * 2000, b"SQLite format 3\x00" + b"\xff" * 5000])
def test_a_damaged_database_is_rebuilt_by_reindex(tmp_path: Path, garbage: bytes) -> None:
    run = _write_run(tmp_path)
    with open_history(tmp_path) as db:
        ingest_all(db, tmp_path)
        before = content(db)
    (tmp_path / DATABASE_NAME).write_bytes(garbage)
    for open_it in (Database.open, Database.open_read_only):
        with pytest.raises(DamagedHistoryError, match="`clarinet reindex`"):
            open_it(tmp_path)
    reindex(tmp_path)
    with Database.open(tmp_path) as db:
        assert content(db) == before
        assert get_run(db, run)
    (aside,) = tmp_path.glob(f"{DATABASE_NAME}.damaged-*")
    assert aside.read_bytes() == garbage


def test_reindex_that_fails_leaves_the_history_as_it_was(tmp_path: Path) -> None:
    """It builds a new database beside the old one, and replaces the content when it is complete."""
    _write_run(tmp_path)
    with open_history(tmp_path) as db:
        ingest_all(db, tmp_path)
        before = content(db)

        def fail(done: int, total: int) -> None:
            assert content(db) == before, "others read the old history meanwhile"
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            reindex(tmp_path, fail)
        assert content(db) == before
    assert list(tmp_path.glob(".clarinet.db*")) == []


def test_damage_in_the_middle_is_reported(tmp_path: Path) -> None:
    _write_run(tmp_path)
    with open_history(tmp_path) as db:
        ingest_all(db, tmp_path)
        before = content(db)
    raw = bytearray((tmp_path / DATABASE_NAME).read_bytes())
    raw[4096:] = b"\xaa" * (len(raw) - 4096)
    (tmp_path / DATABASE_NAME).write_bytes(raw)
    with pytest.raises(DamagedHistoryError, match="reindex"), Database.open(tmp_path) as db:
        list_runs(db)
    reindex(tmp_path)
    with Database.open(tmp_path) as db:
        assert content(db) == before


def test_a_database_deleted_while_open_is_created_again(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    write_events(run, [started(), step(1)])
    with open_history(tmp_path) as db:
        ingest_run(db, run)
        for ending in ("", "-wal", "-shm"):
            (tmp_path / (DATABASE_NAME + ending)).unlink(missing_ok=True)
        write_events(run, [step(2)])
        assert ingest_run(db, run) == 4
        with Database.open(tmp_path) as other:
            assert [row["iteration"] for row in other.rows("SELECT iteration FROM iterations")] == [1, 2]


def test_reindex_gives_the_same_content_and_keeps_connections(tmp_path: Path) -> None:
    for _ in range(3):
        _write_run(tmp_path)
    with open_history(tmp_path) as db:
        ingest_all(db, tmp_path)
        before = content(db)
        calls = list[tuple[int, int]]()
        reindex(tmp_path, lambda done, total: calls.append((done, total)))
        assert content(db) == before
        assert calls == [(0, 3), (1, 3), (2, 3), (3, 3)]


def test_a_locked_database_is_reported_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.05)
    run = make_run(tmp_path)
    with open_history(tmp_path) as db:
        ingest_run(db, run)
        holding = sqlite3.connect(tmp_path / DATABASE_NAME, isolation_level=None)
        holding.execute("BEGIN IMMEDIATE")
        write_events(run, [started()])
        with Database.open(tmp_path) as other:
            assert count_runs(other) == 1
            with pytest.raises(HistoryError, match="locked by another process"):
                ingest_run(other, run)
        with pytest.raises(HistoryError, match="locked"):
            reindex(tmp_path)
        holding.execute("ROLLBACK")
        holding.close()
        assert ingest_run(db, run) == 1


def test_a_full_disk_is_reported_and_loses_nothing(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    write_events(run, [started(), *map(step, range(1, 3000))])
    with open_history(tmp_path) as db:
        pages = db.rows("PRAGMA page_count")[0][0]
        db.connection.execute(f"PRAGMA max_page_count = {pages + 10}")
        with pytest.raises(HistoryError, match="disk is full"):
            ingest_run(db, run)
        assert db.rows("SELECT count(*) FROM iterations")[0][0] == 0
        db.connection.execute("PRAGMA max_page_count = 1000000")
        assert ingest_run(db, run) == 3000


def test_read_only_neither_creates_nor_writes(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        Database.open_read_only(tmp_path)
    assert list(tmp_path.iterdir()) == []
    open_history(tmp_path).close()
    with Database.open_read_only(tmp_path) as db:
        assert list_runs(db) == []
        with pytest.raises(HistoryError), db.transaction() as connection:
            connection.execute("DELETE FROM runs")


def test_directory_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / DATABASE_NAME).mkdir()
    with pytest.raises(HistoryError, match="--db"):
        Database.open(tmp_path)


def test_the_path_can_be_set(tmp_path: Path) -> None:
    run = _write_run(tmp_path / "runs")
    with Database.open(tmp_path / "runs", tmp_path / "local disk" / "my?.db") as db:
        ingest_all(db, tmp_path / "runs")
        assert get_run(db, run)
    assert (tmp_path / "local disk" / "my?.db").exists()
    assert not (tmp_path / "runs" / DATABASE_NAME).exists()


def test_a_connection_is_used_by_one_thread(tmp_path: Path) -> None:
    with open_history(tmp_path) as db:
        caught = list[BaseException]()

        def use() -> None:
            try:
                db.rows("SELECT 1")
            except sqlite3.ProgrammingError as error:
                caught.append(error)

        thread = threading.Thread(target=use)
        thread.start()
        thread.join()
        assert caught


def _write_run(runs_dir: Path) -> str:
    """Write a run with every kind of row."""
    run = make_run(runs_dir)
    write_events(run, [started(), *map(step, range(1, 300)), evaluation(100, 12.5), evaluation(200, 25.0)])
    write_events(run, [resumed(150), *map(step, range(151, 200))])
    add_tag(run, "icml")
    set_note(run, "a note")
    return run.id


def test_an_older_database_gets_the_four_families(tmp_path: Path) -> None:
    """Families by the number of stages, as versions before migration 0003 stored them."""
    stored = {"clarinet": "one-step", "gac+dann": "two-step", "gac": "one-step", "source-only": "one-step"}
    stored |= {"cdan-e": "one-step", "mine": "two-step", "mine+dann": "one-step"}
    open_history(tmp_path).close()
    with closing(sqlite3.connect(tmp_path / DATABASE_NAME)) as old:
        for method, family in stored.items():
            sql = "INSERT INTO runs (id, state, said, created, method, family) VALUES (?, 'lost', 'running', 0, ?, ?)"
            old.execute(sql, (f"id{method}", method, family))
        old.execute("INSERT INTO runs (id, state, said, created) VALUES ('unreadable', 'lost', 'running', 0)")
        remove_migrations(old, "0003")
        old.commit()
    with Database.open(tmp_path) as db:
        families = dict(db.tuples("SELECT method, family FROM runs WHERE method IS NOT NULL"))
        assert families == {
            "clarinet": "one-step",
            "gac+dann": "two-step",
            "gac": "no-adaptation",
            "source-only": "reference",
            "cdan-e": "reference",
            "mine": "one-step",
            "mine+dann": "two-step",
        }
        assert {row.method for row in list_runs(db, "family:reference")} == {"source-only", "cdan-e"}
    assert (tmp_path / f"{DATABASE_NAME}.before-0003").exists()


def test_concurrent_migrations_leave_one_complete_backup(tmp_path: Path) -> None:
    open_history(tmp_path).close()
    with closing(sqlite3.connect(tmp_path / DATABASE_NAME)) as old:
        remove_migrations(old, "0002")
        old.execute("CREATE TABLE ballast AS SELECT randomblob(1000000) AS bytes")
        old.commit()
    together = threading.Barrier(8)

    def opened(_: int) -> str:
        together.wait()
        with Database.open(tmp_path) as db:
            return str(db.rows("SELECT max(name) FROM _sqlite_migrations")[0][0])

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(opened, range(8))) == {schema.MIGRATIONS[-1]}
    with closing(sqlite3.connect(tmp_path / f"{DATABASE_NAME}.before-0002")) as copy:
        assert copy.execute("SELECT max(name) FROM _sqlite_migrations").fetchone() == ("0001",)
        assert copy.execute("PRAGMA quick_check").fetchone() == ("ok",)
    assert list(tmp_path.glob(".*.partial")) == []
