"""`clarinet doctor --repair`: mends what it can, says what it did, and never deletes."""

import shutil
import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path

import pytest

from clarinet_tui.doctor.checks import check_journals, check_run_files
from clarinet_tui.doctor.repair import repair
from clarinet_tui.history.database import DATABASE_NAME, Database
from clarinet_tui.history.ingest import ingest_all
from clarinet_tui.history.reindex import find_mismatch
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.lock import read_lock_owner
from tests.support.cli import invoke
from tests.support.events import evaluation, started, step
from tests.support.histories import content, make_run, open_history, write_events, write_lock


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    """A run in a history that agrees with it."""
    made = make_run(tmp_path, "abc")
    write_events(made, [started(), *map(step, range(1, 100)), evaluation(99)])
    with open_history(tmp_path) as db:
        ingest_all(db, tmp_path)
    return made


def edit_history(run: RunDirectory, sql: str) -> None:
    with closing(sqlite3.connect(run.runs_dir / DATABASE_NAME)) as connection:
        connection.execute(sql)
        connection.commit()


def test_nothing_to_repair(run: RunDirectory) -> None:
    assert list(repair(run.runs_dir)) == []
    assert check_journals(run.runs_dir, run.runs_dir / DATABASE_NAME).verdict == "good"
    assert check_run_files(run.runs_dir).verdict == "good"


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM iterations WHERE iteration = 50",
        "UPDATE iterations SET complementary_loss = 7 WHERE iteration = 50",
        "DELETE FROM evaluations",
        "UPDATE events SET message = 'x'",
        "DELETE FROM rollups WHERE level = 2",
    ],
)
def test_rows_that_differ_from_the_journal_are_found_and_ingested_again(run: RunDirectory, sql: str) -> None:
    with Database.open(run.runs_dir) as db:
        before = content(db)
    edit_history(run, sql)
    checked = invoke(run.runs_dir, "check")
    assert checked.exit_code == 1
    assert "abc: its " in checked.stdout
    (done,) = repair(run.runs_dir)
    assert "differ from its journal: ingested again" in done
    assert invoke(run.runs_dir, "check").exit_code == 0
    with Database.open(run.runs_dir) as db:
        assert content(db) == before


@pytest.mark.parametrize(("factor", "expected"), [(1 + 2**-50, ""), (1.01, "its rollups differ from its journal")])
def test_sums_may_differ_as_much_as_versions_of_python_do(run: RunDirectory, factor: float, expected: str) -> None:
    with Database.open(run.runs_dir) as db:
        with db.transaction() as connection:
            connection.execute("UPDATE rollups SET total = total * ?", (factor,))
        assert find_mismatch(db, run, rows=True) == expected


def test_a_journal_changed_below_what_was_ingested_is_found_by_its_checksum(run: RunDirectory) -> None:
    """In the middle of a long journal, where ingestion does not look again."""
    changed = run.journal.read_bytes().replace(b"[50,0,null", b"[50,1,null")
    run.journal.write_bytes(changed)
    result = check_journals(run.runs_dir, run.runs_dir / DATABASE_NAME)
    assert (result.verdict, result.message) == ("bad", "run abc: its journal is not the one that was ingested")
    assert list(repair(run.runs_dir)) == ["run abc: its journal is not the one that was ingested: ingested again"]
    with Database.open(run.runs_dir) as db:
        assert find_mismatch(db, run, rows=True) == ""


def test_unreadable_files_are_renamed_and_none_is_deleted(run: RunDirectory) -> None:
    run.environment.write_bytes(b"\xff")
    run.lock.write_bytes(b"[")
    (run.runs_dir / "queue.json").write_bytes(b'"\xff')
    assert "environment.json" in check_run_files(run.runs_dir).message
    before = {path.read_bytes() for path in run.runs_dir.rglob("*") if path.is_file()}
    done = list(repair(run.runs_dir))
    assert [sum(name in sentence for sentence in done) for name in ("environment.json", "lock", "queue.json")] == [
        1
    ] * 3
    assert check_run_files(run.runs_dir).verdict == "good"
    kept = {path.read_bytes() for path in run.runs_dir.rglob("*") if path.is_file()}
    assert {b"\xff", b"[", b'"\xff'} <= before & kept
    assert list(repair(run.runs_dir)) == []


def test_the_lock_of_a_dead_process_is_released(run: RunDirectory) -> None:
    write_lock(run, pid=2**22 - 3, start=1.0)
    (done,) = repair(run.runs_dir)
    assert "released the lock of process" in done
    owner = read_lock_owner(run.lock)
    assert owner is not None
    assert owner.released is not None


def test_the_lock_of_a_live_process_is_kept(run: RunDirectory) -> None:
    with run.hold_lock():
        assert list(repair(run.runs_dir)) == []


def test_a_damaged_database_is_rebuilt(run: RunDirectory) -> None:
    (run.runs_dir / DATABASE_NAME).write_bytes(b"garbage" * 1000)
    result = invoke(run.runs_dir, "doctor", "--repair", "--data-dir", str(run.runs_dir))
    assert "rebuilt" in result.stderr
    with Database.open(run.runs_dir) as db:
        assert len(db.tuples("SELECT 1 FROM iterations")) == 99


def test_backup_and_restore(run: RunDirectory, tmp_path: Path) -> None:
    run.checkpoint.write_bytes(b"weights")
    with run.journal.open("ab") as journal:
        journal.write(b"[100,1,nu")  # the run is writing
    there = tmp_path.with_name(tmp_path.name + "-there")
    assert invoke(run.runs_dir, "backup", str(there.with_suffix(".tar.gz"))).exit_code == 0
    with tarfile.open(there.with_suffix(".tar.gz")) as archive:
        names = archive.getnames()
    assert names.index("abc/checkpoint.pt") < names.index("abc/journal.jsonl"), "so that no checkpoint is ahead of it"
    restored = invoke(there, "restore", str(there.with_suffix(".tar.gz")))
    assert "1 run restored, 0 existed" in restored.stdout
    copy = RunDirectory(there, "abc")
    assert copy.checkpoint.read_bytes() == b"weights"
    assert run.journal.read_bytes() == copy.journal.read_bytes() + b"[100,1,nu"
    again = invoke(there, "restore", str(there.with_suffix(".tar.gz")))
    assert "0 runs restored, 1 existed" in again.stdout
    shutil.rmtree(there)
