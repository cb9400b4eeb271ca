"""Many long runs in one database: how large it is, and how long listings and curves take then."""

import random
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.soak_load import CHART_COLUMNS, METRICS, Watch, evaluated, started, stepped
from clarinet_tui.history.database import NAME, Database
from clarinet_tui.history.ingest import ingest_run
from clarinet_tui.history.queries import list_runs, series
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.journal_writer import JournalWriter
from core.events import Finished
from core.resolve import resolve

LOOKS, PART = 40, 6000
EVALUATIONS = 100


@dataclass(frozen=True)
class Sizes:
    rows: int
    database: int
    journals: int
    seconds: float
    watches: dict[str, Watch]


def read_many(runs_dir: Path, runs: int, iterations: int) -> Sizes:
    """One journal is written, and every run has its copy: only reading is measured."""
    journal = b""
    seconds = 0.0
    with Database.open(runs_dir) as db:
        for number in range(runs):
            method = ("clarinet", "gac+dann")[number % 2]
            run = RunDirectory.create(
                runs_dir, resolve(preset="smoke", task="U->M", method=method, seed=number), id=f"run{number:05}"
            )
            journal = journal or written(run, iterations)
            run.journal.write_bytes(journal)
            began = time.perf_counter()
            ingest_run(db, run)
            seconds += time.perf_counter() - began
        db.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with Database.open_read_only(runs_dir) as db:
        rows = db.tuples("SELECT count(*) FROM iterations")[0][0]
        return Sizes(rows, (runs_dir / NAME).stat().st_size, len(journal) * runs, seconds, looked(db, runs, iterations))


def written(run: RunDirectory, iterations: int) -> bytes:
    chance = random.Random(1)
    with JournalWriter(run.journal) as writer:
        writer.append(started(iterations))
        for at in range(1, iterations + 1):
            writer.append(stepped(at, chance))
            if at % max(1, iterations // EVALUATIONS) == 0:
                writer.append(evaluated(at))
        writer.append(Finished(iteration=iterations, epoch=1, target_accuracy=50.0, source_accuracy=None))
    return run.journal.read_bytes()


def looked(db: Database, runs: int, iterations: int) -> dict[str, Watch]:
    chance = random.Random(2)
    watches = {name: Watch() for name in ("list of all", "list of a query", "chart of a whole run", "chart of a part")}
    everything, query, whole, part = watches.values()
    series(db, "run00000", METRICS[0])  # numpy is loaded once
    for _ in range(LOOKS):
        name, metric = f"run{chance.randrange(runs):05}", chance.choice(METRICS)
        first = chance.randint(1, max(1, iterations // 2))
        everything.time(partial(list_runs, db, limit=runs))
        query.time(partial(list_runs, db, "method:clarinet acc>20 state:finished", sort="target_accuracy", limit=50))
        whole.time(partial(series, db, name, metric, width=CHART_COLUMNS))
        part.time(partial(series, db, name, metric, start=first, stop=first + PART, width=CHART_COLUMNS))
    return watches
