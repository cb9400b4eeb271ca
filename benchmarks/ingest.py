"""Cost of the journal and the history: appending, ingesting, reading curves, and listing runs.

python -m benchmarks.ingest [--iterations N] [--runs N]
Writes and ingests one long run with eight metrics, reads curves from it, then ingests and lists many short runs.
"""

import argparse
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from clarinet_tui.history.curves import list_metrics, read_series
from clarinet_tui.history.database import DATABASE_NAME, Database
from clarinet_tui.history.ingest import ingest_all, ingest_run
from clarinet_tui.history.queries import count_runs, list_runs
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.journal_writer import JournalWriter
from tests.support.events import EIGHT_METRICS, evaluation, started, step
from tests.support.histories import make_run, write_events

APPEND_GOAL, INGEST_GOAL = 10.0, 25.0
"""Microseconds an iteration."""
BLOCK = 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iterations", type=int, default=200_000, help="iterations of the long run")
    parser.add_argument("--runs", type=int, default=1000, help="number of short runs")
    arguments = parser.parse_args()
    with TemporaryDirectory() as folder:
        run = make_run(Path(folder))
        measure_append(run, arguments.iterations)
        measure_ingest(run)
        measure_curves(run, arguments.iterations)
    with TemporaryDirectory() as folder:
        measure_listings(Path(folder), arguments.runs)


def measure_append(run: RunDirectory, iterations: int) -> None:
    """Time `append` in the training thread, in blocks of iterations."""
    rng = random.Random(1)
    blocks = []
    with JournalWriter(run.journal) as writer:
        writer.append(started(iterations_total=iterations))
        for first in range(1, iterations + 1, BLOCK):
            metrics = ({name: rng.random() for name in EIGHT_METRICS} for _ in range(BLOCK))
            events = [step(first + offset, values) for offset, values in enumerate(metrics)]
            wall, cpu = time.perf_counter(), time.thread_time()
            for event in events:
                writer.append(event)
            blocks.append((time.perf_counter() - wall, time.thread_time() - cpu))
            writer.append(evaluation(first + BLOCK - 1, 50.0))
    walls, cpus = ([seconds / BLOCK * 1e6 for seconds in column] for column in zip(*blocks, strict=True))
    cpu = statistics.median(cpus)
    print(f"append: median {statistics.median(walls):.1f} µs, CPU {cpu:.1f} µs; {verdict(cpu, APPEND_GOAL)}")
    print(f"journal: {run.journal.stat().st_size / iterations:.0f} bytes an iteration")


def measure_ingest(run: RunDirectory) -> None:
    with Database.open(run.runs_dir) as db:
        wall, cpu = time.perf_counter(), time.process_time()
        count = ingest_run(db, run)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    size = (run.runs_dir / DATABASE_NAME).stat().st_size
    wall, cpu = wall / count * 1e6, cpu / count * 1e6
    print(f"ingest: {wall:.1f} µs an iteration until durable, CPU {cpu:.1f} µs; {verdict(wall, INGEST_GOAL)}")
    print(f"database: {size / count:.0f} bytes an iteration")


def measure_curves(run: RunDirectory, iterations: int) -> None:
    start = time.perf_counter()
    with Database.open_read_only(run.runs_dir) as db:
        names = list_metrics(db, run.id)
        read_series(db, run.id, names[0])
        milliseconds = (time.perf_counter() - start) * 1e3
        print(f"first curve of {iterations} iterations: {milliseconds:.0f} ms")
        rng = random.Random(2)
        for width in (200, 400):
            for span in (width, 31 * width, 511 * width, iterations):
                if span > iterations:
                    continue

                def read_curve(span: int = span, width: int = width) -> object:
                    first = rng.randint(1, iterations - span + 1)
                    return read_series(
                        db, run.id, rng.choice(EIGHT_METRICS), start=first, stop=first + span, width=width
                    )

                report(f"curve of {span} iterations in {width} columns", read_curve)


def measure_listings(runs_dir: Path, runs: int) -> None:
    for number in range(runs):
        run = make_run(runs_dir, id=f"run{number:06}", seed=number, method=("clarinet", "gac+dann")[number % 2])
        write_events(run, [started(seed=number), evaluation(1, number % 100)])
    query = "method:clarinet acc>20 -state:failed since:2d seed:1..4000"
    with Database.open(runs_dir) as db:
        report(f"ingest {runs} new runs", lambda: ingest_all(db, runs_dir), repeats=1)
        report(f"ingest {runs} unchanged runs", lambda: ingest_all(db, runs_dir))
        report("list all, newest first", lambda: list_runs(db))
        report("list by a query, sorted", lambda: list_runs(db, query, sort="target_accuracy"))
        report("list by a text, sorted", lambda: list_runs(db, "dann", sort="target_accuracy"))
        report("count by a query", lambda: count_runs(db, query))


def report(name: str, call: Callable[[], object], repeats: int = 15) -> None:
    walls, cpus = [], []
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.thread_time()
        call()
        walls.append((time.perf_counter() - wall) * 1e3)
        cpus.append((time.thread_time() - cpu) * 1e3)
    print(f"{name}: median {statistics.median(walls):.1f} ms, maximum {max(walls):.1f} ms, CPU {min(cpus):.1f} ms")


def verdict(value: float, goal: float) -> str:
    return f"goal ≤ {goal:g} µs: {'met' if value <= goal else 'MISSED'}"


if __name__ == "__main__":
    main()
