"""The database file: newer, older, damaged, locked, deleted, read-only, and created concurrently."""

import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import pytest
from sqlite_utils import Database as Tables

from clarinet_tui.history import database
from clarinet_tui.history.database import (
    DATABASE_NAME,
    DamagedHistoryError,
    Database,
    HistoryError,
    OutdatedHistoryError,
)
from clarinet_tui.history.ingest import ingest_all, ingest_run
from clarinet_tui.history.queries import count_runs, get_run, list_runs
from clarinet_tui.history.reindex import open_history as open_history_of_any_version
from clarinet_tui.history.reindex import reindex
from clarinet_tui.runs.annotations import add_tag, set_note
from core.errors import InputError
from tests.support.events import evaluation, resumed, started, step
from tests.support.forked_python import forkserver
from tests.support.histories import content, ingested, make_outdated, make_run, open_history, record_run, write_events


def write_history(runs_dir: Path, runs: int = 1) -> dict[str, list[tuple[Any, ...]]]:
    """Write runs with every kind of row, ingest them, and return the content of their history."""
    for _ in range(runs):
        run = make_run(runs_dir)
        write_events(run, [started(), *map(step, range(1, 300)), evaluation(100, 12.5), evaluation(200, 25.0)])
        write_events(run, [resumed(150), *map(step, range(151, 200))])
        add_tag(run, "icml")
        set_note(run, "a note")
    with ingested(runs_dir) as db:
        return content(db)


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


@pytest.fixture
def outdated(tmp_path: Path) -> Path:
    """A runs directory with three runs, and a history of them with the schema of Clarinet 0.2.0."""
    write_history(tmp_path, runs=3)
    make_outdated(tmp_path / DATABASE_NAME)
    return tmp_path


def read_old_rows(runs_dir: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(runs_dir / DATABASE_NAME)) as old:
        return old.execute("SELECT id, said FROM runs ORDER BY id").fetchall()


def test_an_older_history_is_rebuilt_from_the_run_directories(outdated: Path) -> None:
    for open_it in (Database.open, Database.open_read_only):
        with pytest.raises(OutdatedHistoryError, match="older version of Clarinet: `clarinet ls` rebuilds it"):
            open_it(outdated)
    old = read_old_rows(outdated)
    calls = list[tuple[int, int]]()

    def progress(done: int, total: int) -> None:
        calls.append((done, total))
        assert read_old_rows(outdated) == old, "it is replaced only when the new one is complete"

    with open_history_of_any_version(outdated, progress=progress) as db:
        assert calls == [(0, 0), (0, 3), (1, 3), (2, 3), (3, 3)]
        rebuilt = content(db)
        with Database.open(outdated, outdated / "other.db") as new:
            ingest_all(new, outdated)
            assert content(new) == rebuilt
    assert list(outdated.glob(".*.rebuilt*")) == []


def test_a_rebuild_that_fails_leaves_the_old_history(outdated: Path) -> None:
    old = read_old_rows(outdated)

    def fail(done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        open_history_of_any_version(outdated, progress=fail)
    assert read_old_rows(outdated) == old
    assert list(outdated.glob(".*.rebuilt*")) == []
    with open_history_of_any_version(outdated) as db:
        assert count_runs(db) == 3


def rebuild_halfway(runs_dir: Path, is_halfway: Event) -> None:
    def wait(done: int, total: int) -> None:
        if done == 2:
            is_halfway.set()
            time.sleep(600)

    open_history_of_any_version(runs_dir, progress=wait)


def test_a_killed_rebuild_leaves_the_old_history(outdated: Path) -> None:
    is_halfway = forkserver.Event()
    process = forkserver.Process(target=rebuild_halfway, args=(outdated, is_halfway))
    process.start()
    assert is_halfway.wait(60)
    old = read_old_rows(outdated)
    process.kill()
    process.join()
    assert read_old_rows(outdated) == old
    with open_history_of_any_version(outdated) as db:
        assert count_runs(db) == 3
    assert list(outdated.glob(".*.rebuilt*")) == []


def test_of_several_processes_one_rebuilds_it(outdated: Path) -> None:
    together = threading.Barrier(6)
    rebuilt = list[int]()

    def opened(number: int) -> int:
        together.wait()
        with open_history_of_any_version(
            outdated, progress=lambda done, total: rebuilt.append(number) if total else None
        ) as db:
            return count_runs(db)

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(opened, range(6))) == [3] * 6
    assert len(set(rebuilt)) == 1


def test_a_process_of_the_older_version_neither_reads_wrong_rows_nor_writes(outdated: Path) -> None:
    """It has the history open while another process rebuilds it, and goes on writing to it until then."""
    with closing(sqlite3.connect(outdated / DATABASE_NAME, isolation_level=None)) as old:
        old.execute("BEGIN")
        before = old.execute("SELECT id, said FROM runs").fetchall()

        def write(done: int, total: int) -> None:
            with closing(sqlite3.connect(outdated / DATABASE_NAME, isolation_level=None)) as worker:
                worker.execute("UPDATE runs SET said = 'lost', heard = ?", (done,))

        with open_history_of_any_version(outdated, progress=write) as db:
            assert {row.state for row in list_runs(db)} == {"running"}
            assert old.execute("SELECT id, said FROM runs").fetchall() == before
            old.execute("COMMIT")
            with pytest.raises(sqlite3.OperationalError, match="no such column"):
                old.execute("UPDATE runs SET said = 'lost'")
            assert {row.state for row in list_runs(db)} == {"running"}
            assert db.rows("PRAGMA integrity_check")[0][0] == "ok"


def count_in_new_database(runs_dir: Path) -> int:
    with Database.open(runs_dir) as db:
        return count_runs(db)


def test_several_processes_create_it_at_once(tmp_path: Path) -> None:
    with forkserver.Pool(4) as pool:
        assert pool.map(count_in_new_database, [tmp_path] * 4, chunksize=1) == [0] * 4


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: b"garbage" * 2000,
        lambda whole: b"SQLite format 3\x00" + b"\xff" * 5000,
        lambda whole: whole[:4096] + b"\xaa" * (len(whole) - 4096),
    ],
    ids=["garbage", "only its name", "in the middle"],
)
def test_a_damaged_database_is_rebuilt_by_reindex(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    before = write_history(tmp_path)
    damaged = damage((tmp_path / DATABASE_NAME).read_bytes())
    (tmp_path / DATABASE_NAME).write_bytes(damaged)
    for open_it in (Database.open, Database.open_read_only):
        with pytest.raises(DamagedHistoryError, match="`clarinet reindex`"), open_it(tmp_path) as db:
            list_runs(db)
    reindex(tmp_path)
    with Database.open(tmp_path) as db:
        assert content(db) == before
    (aside,) = tmp_path.glob(f"{DATABASE_NAME}.damaged-*")
    assert aside.read_bytes() == damaged


def test_reindex_that_fails_leaves_the_history_as_it_was(tmp_path: Path) -> None:
    """It builds a new database beside the old one, and replaces the content when it is complete."""
    before = write_history(tmp_path)
    with open_history(tmp_path) as db:

        def fail(done: int, total: int) -> None:
            assert content(db) == before, "others read the old history meanwhile"
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            reindex(tmp_path, fail)
        assert content(db) == before
    assert list(tmp_path.glob(".*.rebuilt*")) == []


def test_a_database_deleted_while_open_is_created_again(db: Database, tmp_path: Path) -> None:
    run = record_run(db, started(), step(1))
    for ending in ("", "-wal", "-shm"):
        (tmp_path / (DATABASE_NAME + ending)).unlink(missing_ok=True)
    write_events(run, [step(2)])
    assert ingest_run(db, run) == 4
    with Database.open(tmp_path) as other:
        assert other.tuples("SELECT iteration FROM iterations") == [(1,), (2,)]


def test_reindex_gives_the_same_content_and_keeps_connections(tmp_path: Path) -> None:
    before = write_history(tmp_path, runs=3)
    with open_history(tmp_path) as db:
        calls = list[tuple[int, int]]()
        reindex(tmp_path, lambda done, total: calls.append((done, total)))
        assert content(db) == before
        assert calls == [(0, 3), (1, 3), (2, 3), (3, 3)]


def test_a_locked_database_is_reported_and_kept(db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.05)
    run = record_run(db)
    with closing(sqlite3.connect(tmp_path / DATABASE_NAME, isolation_level=None)) as holding:
        holding.execute("BEGIN IMMEDIATE")
        write_events(run, [started()])
        with Database.open(tmp_path) as other:
            assert count_runs(other) == 1
            with pytest.raises(HistoryError, match="locked by another process"):
                ingest_run(other, run)
        with pytest.raises(HistoryError, match="locked"):
            reindex(tmp_path)
    assert ingest_run(db, run) == 1


def test_a_full_disk_is_reported_and_loses_nothing(db: Database, tmp_path: Path) -> None:
    run = make_run(tmp_path)
    write_events(run, [started(), *map(step, range(1, 3000))])
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
    (tmp_path / "other" / DATABASE_NAME).mkdir(parents=True)
    with pytest.raises(HistoryError, match="--db"):
        Database.open(tmp_path / "other")


def test_the_path_can_be_set(tmp_path: Path) -> None:
    run = make_run(tmp_path / "runs")
    with Database.open(tmp_path / "runs", tmp_path / "local disk" / "my?.db") as db:
        ingest_all(db, tmp_path / "runs")
        assert get_run(db, run.id)
    assert (tmp_path / "local disk" / "my?.db").exists()
    assert not (tmp_path / "runs" / DATABASE_NAME).exists()
