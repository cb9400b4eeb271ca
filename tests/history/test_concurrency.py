"""Several processes ingest at once and are killed: no line is lost or stored twice."""

import random
import threading
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from multiprocessing.queues import Queue
from pathlib import Path

import pytest

from clarinet_tui.history import journal_batches as batches
from clarinet_tui.history.database import DATABASE_NAME, Database
from clarinet_tui.history.ingest import ingest_all
from clarinet_tui.history.reindex import reindex
from clarinet_tui.runs.directory import RunDirectory, list_runs
from clarinet_tui.runs.journal_writer import JournalWriter
from core.errors import InputError
from tests.support.events import evaluation, read_journal, resumed, started, step
from tests.support.forked_python import forkserver
from tests.support.histories import content, make_run, open_history, write_events


def ingest_until_over(runs: Path, counts: "Queue[int] | None" = None) -> None:
    """Ingest small batches until the file `over` exists; then put the number of rows into the queue."""
    batches.MAX_ROWS = 37
    with Database.open(runs) as db:
        count = 0
        while not (runs / "over").exists():
            count += ingest_all(db, runs)
        count += ingest_all(db, runs)
    if counts is not None:
        counts.put(count)


def record_until_over(runs: Path) -> None:
    """Ingest as workers do: after an error, open the database again."""
    db: Database | None = None
    while not (runs / "over").exists():
        try:
            db = db or Database.open(runs)
            ingest_all(db, runs)
        except InputError:
            db = None
        time.sleep(0.01)


def start(target: Callable[..., None], *arguments: object) -> BaseProcess:
    process = forkserver.Process(target=target, args=arguments)
    process.start()
    return process


def write_journals(runs: list[RunDirectory], rounds: int) -> None:
    """Write to all journals in turns, with a resume now and then."""
    writers = [JournalWriter(run.journal, interval=0.01, now=lambda: 5.0) for run in runs]
    for writer in writers:
        writer.append(started())
    at = dict.fromkeys(range(len(writers)), 0)
    for turn in range(rounds):
        for number, writer in enumerate(writers):
            if turn % 7 == 6:
                at[number] = max(0, at[number] - 25)
                writer.append(resumed(at[number]))
            for _ in range(40):
                at[number] += 1
                writer.append(step(at[number]))
            writer.append(evaluation(at[number], float(turn)))
        time.sleep(0.02)
    for writer in writers:
        writer.close()


def ingested_bytes(db: Database) -> int:
    """Return the number of ingested bytes of all journals."""
    found: int | None = db.rows("SELECT total(journal) FROM ingested")[0][0]
    return int(found or 0)


def test_three_processes_ingest_three_growing_runs(tmp_path: Path) -> None:
    runs = [make_run(tmp_path) for _ in range(3)]
    open_history(tmp_path).close()
    counts: Queue[int] = forkserver.Queue()
    for _ in range(3):
        start(ingest_until_over, tmp_path, counts)
    write_journals(runs, 40)
    (tmp_path / "over").touch()
    recorded = sum(len(read_journal(run.journal)) + 1 for run in runs)  # and the creation time of each
    assert sum(counts.get(timeout=60) for _ in range(3)) == recorded
    with open_history(tmp_path) as db:
        assert ingest_all(db, tmp_path) == 0
        grown = content(db)
        reindex(tmp_path)
        assert content(db) == grown
        last = 40 * 40 - 5 * 25
        for run in runs:
            count = db.rows("SELECT count(*), max(iteration) FROM iterations WHERE run = ?", (run.id,))[0]
            assert tuple(count) == (last, last)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_killed_ingester_is_continued_by_another(tmp_path: Path, seed: int) -> None:
    runs = [make_run(tmp_path) for _ in range(2)]
    for run in runs:
        write_events(run, [started(), *map(step, range(1, 4000)), resumed(3000), *map(step, range(3001, 5000))])
    open_history(tmp_path).close()
    chance = random.Random(seed)
    with open_history(tmp_path) as db:
        for _ in range(3):
            before = ingested_bytes(db)
            process = start(ingest_until_over, tmp_path)
            while ingested_bytes(db) == before and process.is_alive():
                time.sleep(0.001)
            time.sleep(chance.random() / 20)
            process.kill()
            process.join()
        assert ingested_bytes(db) > 0
        assert db.rows("PRAGMA integrity_check")[0][0] == "ok"
        ingest_all(db, tmp_path)
        grown = content(db)
        reindex(tmp_path)
        assert content(db) == grown
        assert db.rows("SELECT count(*) FROM iterations")[0][0] == 2 * 4999


def delete_with_wal(database: Path) -> None:
    for path in database.parent.glob(DATABASE_NAME + "*"):
        path.unlink()


DAMAGE: dict[str, Callable[[Path], object]] = {
    "overwritten": lambda database: database.write_bytes(b"garbage" * 5000),
    "truncated": lambda database: database.write_bytes(b""),
    "deleted": Path.unlink,
    "deleted with its WAL": delete_with_wal,
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_database_damaged_while_runs_train_is_rebuilt(tmp_path: Path, damage: Callable[[Path], object]) -> None:
    runs = [make_run(tmp_path) for _ in range(2)]
    with open_history(tmp_path) as db:
        recorders = [start(record_until_over, tmp_path) for _ in range(2)]
        writing = threading.Thread(target=write_journals, args=(runs, 40))
        writing.start()
        while ingested_bytes(db) == 0:
            time.sleep(0.01)
    damage(tmp_path / DATABASE_NAME)
    time.sleep(0.2)
    reindex(tmp_path)
    writing.join()
    (tmp_path / "over").touch()
    for process in recorders:
        process.join()
        assert process.exitcode == 0
    with open_history(tmp_path) as db:
        ingest_all(db, tmp_path)
        assert db.rows("PRAGMA integrity_check")[0][0] == "ok"
        grown = content(db)
        reindex(tmp_path)
        assert content(db) == grown
        assert db.rows("SELECT count(*) FROM iterations")[0][0] == 2 * (40 * 40 - 5 * 25)


def test_an_interrupted_transaction_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_run(tmp_path)
    write_events(run, [started(), *map(step, range(1, 100))])
    with open_history(tmp_path) as db:
        with monkeypatch.context() as patch:
            patch.setattr(batches, "MAX_ROWS", 30)
            patch.setattr("clarinet_tui.history.ingest.update_run_row", lambda *arguments: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                ingest_all(db, tmp_path)
        assert db.rows("SELECT * FROM iterations") == []
        ingest_all(db, tmp_path)
        assert db.rows("SELECT count(*) FROM iterations")[0][0] == 99
    assert [listed.id for listed in list_runs(tmp_path)] == [run.id]
