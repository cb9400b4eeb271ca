"""Many long runs in one database: its size, and the time that listings and curves take."""

import random
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.histories import EVALUATIONS, LOAD_METRICS, random_step, started, steady_evaluation
from benchmarks.soak_load import CHART_COLUMNS, Timings
from clarinet_tui.history.curves import read_series
from clarinet_tui.history.database import DATABASE_NAME, Database
from clarinet_tui.history.ingest import ingest_run
from clarinet_tui.history.queries import list_runs
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.journal_writer import JournalWriter
from core.events import Finished
from core.resolve import resolve

READS, RANGE = 40, 6000


@dataclass(frozen=True)
class SizeResult:
    rows: int
    database: int
    journals: int
    seconds: float
    timings: dict[str, Timings]


def ingest_many(runs_dir: Path, runs: int, iterations: int) -> SizeResult:
    """Write one journal, copy it for every run, and measure only ingesting and reading."""
    journal = b""
    seconds = 0.0
    with Database.open(runs_dir) as db:
        for number in range(runs):
            method = ("clarinet", "gac+dann")[number % 2]
            run = RunDirectory.create(
                runs_dir, resolve(preset="smoke", task="U->M", method=method, seed=number), id=f"run{number:05}"
            )
            journal = journal or write_journal(run, iterations)
            run.journal.write_bytes(journal)
            start = time.perf_counter()
            ingest_run(db, run)
            seconds += time.perf_counter() - start
        db.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with Database.open_read_only(runs_dir) as db:
        rows = db.tuples("SELECT count(*) FROM iterations")[0][0]
        size = (runs_dir / DATABASE_NAME).stat().st_size
        return SizeResult(rows, size, len(journal) * runs, seconds, time_reads(db, runs, iterations))


def write_journal(run: RunDirectory, iterations: int) -> bytes:
    rng = random.Random(1)
    with JournalWriter(run.journal) as writer:
        writer.append(started(iterations))
        for iteration in range(1, iterations + 1):
            writer.append(random_step(iteration, rng))
            if iteration % max(1, iterations // EVALUATIONS) == 0:
                writer.append(steady_evaluation(iteration))
        writer.append(Finished(iteration=iterations, epoch=1, target_accuracy=50.0, source_accuracy=None))
    return run.journal.read_bytes()


def time_reads(db: Database, runs: int, iterations: int) -> dict[str, Timings]:
    rng = random.Random(2)
    names = ("list all runs", "list by a query", "chart of a whole run", "chart of a range")
    timings = {name: Timings() for name in names}
    everything, query, whole, part = timings.values()
    read_series(db, "run00000", LOAD_METRICS[0])  # imports numpy
    for _ in range(READS):
        name, metric = f"run{rng.randrange(runs):05}", rng.choice(LOAD_METRICS)
        first = rng.randint(1, max(1, iterations // 2))
        everything.time(partial(list_runs, db, limit=runs))
        query.time(partial(list_runs, db, "method:clarinet acc>20 state:finished", sort="target_accuracy", limit=50))
        whole.time(partial(read_series, db, name, metric, width=CHART_COLUMNS))
        part.time(partial(read_series, db, name, metric, start=first, stop=first + RANGE, width=CHART_COLUMNS))
    return timings
