"""The database locked, deleted or overwritten while runs go on and others wait: the history is what it was."""

import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from clarinet_tui.history.database import NAME, Database
from clarinet_tui.history.ingest import ingest_all, reindex
from clarinet_tui.queue.queue_file import change_queue, read_queue
from clarinet_tui.runs.annotations import add_tag, set_note
from clarinet_tui.runs.directory import RunDirectory
from core.errors import InputError
from core.events import Finished
from tests.support.events import evaluation, started, step
from tests.support.histories import content, history, say
from tests.support.supervised import begun, fed, make, put, state, steps, until, word

CLARINET = [sys.executable, "-P", "-c", "from clarinet_tui.cli.main import main; main()"]
TABLES = ("runs", "evaluations", "iterations", "tags", "notes", "events")


def locked(database: Path) -> None:
    """By a program that writes for three seconds."""

    def write() -> None:
        with closing(sqlite3.connect(database, isolation_level=None)) as connection:
            connection.execute("BEGIN EXCLUSIVE")
            time.sleep(3)
            connection.execute("ROLLBACK")

    threading.Thread(target=write).start()


def deleted(database: Path) -> None:
    database.unlink()


def overwritten(database: Path) -> None:
    database.write_bytes(b"This is not a database. " * 2000)


@pytest.mark.parametrize("harm", [locked, deleted, overwritten])
def test_history_and_queue_are_what_they_were(runs: Path, harm: Callable[[Path], None]) -> None:
    history(runs).close()
    over = make(runs, "over")
    end = Finished(iteration=9, epoch=1, target_accuracy=90.0, source_accuracy=None)
    say(over, [started(), *map(step, range(1, 10)), evaluation(9, 90.0), end])
    add_tag(over, "before")
    one, two = (make(runs, name, "steps=200") for name in ("one", "two"))
    waits, held = (make(runs, name, "steps=10") for name in ("waits", "held"))
    set_note(held, "later")
    change_queue(runs, lambda queue: queue.with_slots({"cpu": 2}))
    put(one, two, waits)
    put(held, paused=True, priority=-1)
    with fed(runs):
        until(lambda: recorded(one) > 50 and recorded(two) > 50, runs)
        was, queue = told_of(over), read_queue(runs)[held.id]
        harm(runs / NAME)
        add_tag(one, "during")
        until(lambda: steps(one) > 120, runs)
        if harm is overwritten:
            with pytest.raises(InputError, match="clarinet reindex"):
                Database.open(runs)
            subprocess.run([*CLARINET, "reindex", "--runs-dir", str(runs)], check=True, timeout=60)
        until(lambda: [entry.id for entry in read_queue(runs).entries] == ["held"], runs)
    assert [(word(run), len(begun(run))) for run in (one, two, waits)] == [("finished", 1)] * 3
    assert read_queue(runs)[held.id] == queue
    assert told_of(over) == was
    assert state(held) == "queued"
    assert [len(told_of(run)["iterations"]) for run in (one, two, waits)] == [200, 200, 10]
    assert [row[1] for row in told_of(one)["tags"]] == ["during"]
    assert equals_one_made_anew(runs)
    assert all(run.log.read_text().count("history: ") <= 1 for run in (one, two, waits))


def recorded(run: RunDirectory) -> int:
    """Iterations that its worker has put into the history itself."""
    with Database.open_read_only(run.runs_dir) as db:
        return len(db.tuples("SELECT 1 FROM iterations WHERE run = ?", (run.id,)))


def told_of(run: RunDirectory) -> dict[str, list[tuple[Any, ...]]]:
    with Database.open(run.runs_dir) as db:
        ingest_all(db, run.runs_dir)
        key = {"runs": "id"}
        return {
            table: db.tuples(f"SELECT * FROM {table} WHERE {key.get(table, 'run')} = ?", (run.id,)) for table in TABLES
        }


def equals_one_made_anew(runs: Path) -> bool:
    anew = runs / "anew.db"
    reindex(runs, path=anew)
    with Database.open(runs) as db, Database.open(runs, anew) as other:
        for one in (db, other):
            with one.transaction() as connection:
                connection.execute("UPDATE runs SET state = said")  # what the queue says is not in the journals
        return content(db) == content(other)
