"""The database is locked, deleted or overwritten while runs train: no history and no queue entry is lost."""

import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from clarinet_tui.history.database import DATABASE_NAME, Database
from clarinet_tui.history.ingest import ingest_all
from clarinet_tui.history.reindex import reindex
from clarinet_tui.queue.queue_file import read_queue, update_queue
from clarinet_tui.runs.annotations import add_tag, set_note
from clarinet_tui.runs.directory import RunDirectory
from core.errors import InputError
from core.events import Finished
from tests.support.cli import CLARINET
from tests.support.events import evaluation, started, step
from tests.support.histories import content, open_history, write_events
from tests.support.supervised import (
    count_steps,
    enqueue_directly,
    last_event,
    make_fault_run,
    read_state,
    read_worker_starts,
    running_supervisor,
    wait_until,
)

TABLES = ("runs", "evaluations", "iterations", "tags", "notes", "events")


def lock(database: Path) -> None:
    """Hold an exclusive transaction for three seconds."""

    def hold() -> None:
        with closing(sqlite3.connect(database, isolation_level=None)) as connection:
            connection.execute("BEGIN EXCLUSIVE")
            time.sleep(3)
            connection.execute("ROLLBACK")

    threading.Thread(target=hold).start()


def delete(database: Path) -> None:
    database.unlink()


def overwrite(database: Path) -> None:
    database.write_bytes(b"This is not a database. " * 2000)


@pytest.mark.parametrize("damage", [lock, delete, overwrite])
def test_history_and_queue_survive_a_damaged_database(runs: Path, damage: Callable[[Path], None]) -> None:
    open_history(runs).close()
    finished = make_fault_run(runs, "finished")
    end = Finished(iteration=9, epoch=1, target_accuracy=90.0, source_accuracy=None)
    write_events(finished, [started(), *map(step, range(1, 10)), evaluation(9, 90.0), end])
    add_tag(finished, "before")
    one, two = (make_fault_run(runs, name, "steps=200") for name in ("one", "two"))
    waiting, paused = (make_fault_run(runs, name, "steps=10") for name in ("waiting", "paused"))
    set_note(paused, "later")
    update_queue(runs, lambda queue: queue.with_slots({"cpu": 2}))
    enqueue_directly(one, two, waiting)
    enqueue_directly(paused, paused=True, priority=-1)
    with running_supervisor(runs):
        wait_until(lambda: count_ingested(one) > 50 and count_ingested(two) > 50, runs)
        rows, entry = read_rows(finished), read_queue(runs)[paused.id]
        damage(runs / DATABASE_NAME)
        add_tag(one, "during")
        wait_until(lambda: count_steps(one) > 120, runs)
        if damage is overwrite:
            with pytest.raises(InputError, match="clarinet reindex"):
                Database.open(runs)
            subprocess.run([*CLARINET, "reindex", "--runs-dir", str(runs)], check=True, timeout=60)
        wait_until(lambda: [entry.id for entry in read_queue(runs).entries] == ["paused"], runs)
    assert [(last_event(run), len(read_worker_starts(run))) for run in (one, two, waiting)] == [("finished", 1)] * 3
    assert read_queue(runs)[paused.id] == entry
    assert read_rows(finished) == rows
    assert read_state(paused) == "queued"
    assert [len(read_rows(run)["iterations"]) for run in (one, two, waiting)] == [200, 200, 10]
    assert [row[1] for row in read_rows(one)["tags"]] == ["during"]
    assert equals_rebuilt_history(runs)
    assert all(run.log.read_text().count("history: ") <= 1 for run in (one, two, waiting))


def count_ingested(run: RunDirectory) -> int:
    """Count the iterations that the run's own worker has ingested."""
    with Database.open_read_only(run.runs_dir) as db:
        return len(db.tuples("SELECT 1 FROM iterations WHERE run = ?", (run.id,)))


def read_rows(run: RunDirectory) -> dict[str, list[tuple[Any, ...]]]:
    with Database.open(run.runs_dir) as db:
        ingest_all(db, run.runs_dir)
        key = {"runs": "id"}
        return {
            table: db.tuples(f"SELECT * FROM {table} WHERE {key.get(table, 'run')} = ?", (run.id,)) for table in TABLES
        }


def equals_rebuilt_history(runs: Path) -> bool:
    path = runs / "rebuilt.db"
    reindex(runs, path=path)
    with Database.open(runs) as db, Database.open(runs, path) as rebuilt:
        for database in (db, rebuilt):
            with database.transaction() as connection:
                connection.execute("UPDATE runs SET state = journal_state")  # queue states are not in the journals
        return content(db) == content(rebuilt)
