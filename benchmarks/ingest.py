"""Figures of journal and history, printed and never asserted: `python -m benchmarks.ingest [ITERATIONS [RUNS]]`."""

import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from clarinet_tui.history.database import NAME, Database
from clarinet_tui.history.ingest import ingest_all, ingest_run
from clarinet_tui.history.queries import count_runs, list_runs, metrics_of, series
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.journal_writer import JournalWriter
from tests.support.events import EIGHT, evaluation, started, step
from tests.support.histories import make_run, say


def main() -> None:
    iterations = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 5000
    with TemporaryDirectory() as folder:
        run = make_run(Path(folder))
        write(run, iterations)
        ingest(run)
        draw(run, iterations)
    with TemporaryDirectory() as folder:
        listing(Path(folder), runs)


def write(run: RunDirectory, iterations: int) -> None:
    """The cost of `append` in the training thread, in blocks of a thousand."""
    chance = random.Random(1)
    blocks = []
    with JournalWriter(run.journal) as writer:
        writer.append(started(iterations_total=iterations))
        for first in range(1, iterations + 1, 1000):
            events = [step(at, {name: chance.random() for name in EIGHT}) for at in range(first, first + 1000)]
            begin, cpu = time.perf_counter(), time.thread_time()
            for event in events:
                writer.append(event)
            blocks.append((time.perf_counter() - begin, time.thread_time() - cpu))
            writer.append(evaluation(first + 999, 50.0))
    wall, own = ([value * 1000 for value in values] for values in zip(*blocks, strict=True))
    print(f"append: median {statistics.median(wall):.1f} µs, of which {statistics.median(own):.1f} µs in the thread")
    print(f"journal: {run.journal.stat().st_size / iterations:.0f} bytes an iteration")


def ingest(run: RunDirectory) -> None:
    with Database.open(run.runs_dir) as db:
        begin, cpu = time.perf_counter(), time.process_time()
        count = ingest_run(db, run)
        wall, own = time.perf_counter() - begin, time.process_time() - cpu
    size = (run.runs_dir / NAME).stat().st_size
    print(f"ingest: {wall / count * 1e6:.1f} µs an iteration until durable ({own / count * 1e6:.1f} µs of CPU)")
    print(f"database: {size / count:.0f} bytes an iteration")


def draw(run: RunDirectory, iterations: int) -> None:
    begin = time.perf_counter()
    with Database.open_read_only(run.runs_dir) as db:
        names = metrics_of(db, run.id)
        series(db, run.id, names[0])
        print(f"first curve of {iterations} iterations: {(time.perf_counter() - begin) * 1e3:.0f} ms, numpy included")
        chance = random.Random(2)
        for width in (200, 400):
            for span in (width, 31 * width, 511 * width, iterations):
                if span > iterations:
                    continue

                def curve(span: int = span, width: int = width) -> object:
                    first = chance.randint(1, iterations - span + 1)
                    return series(db, run.id, chance.choice(EIGHT), start=first, stop=first + span, width=width)

                tell(f"curve of {span} iterations in {width} columns", curve)


def listing(runs_dir: Path, runs: int) -> None:
    for number in range(runs):
        run = make_run(runs_dir, id=f"run{number:06}", seed=number, method=("clarinet", "gac+dann")[number % 2])
        say(run, [started(seed=number), evaluation(1, number % 100)])
    with Database.open(runs_dir) as db:
        tell(f"ingest of {runs} new runs", lambda: ingest_all(db, runs_dir), times=1)
        tell(f"ingest of {runs} runs, nothing new", lambda: ingest_all(db, runs_dir))
        tell("list all, newest first", lambda: list_runs(db))
        query = "method:clarinet acc>20 -state:failed since:2d seed:1..4000"
        tell("list, filtered and sorted", lambda: list_runs(db, query, sort="target_accuracy"))
        tell("list by a word", lambda: list_runs(db, "dann", sort="target_accuracy"))
        tell("count, filtered", lambda: count_runs(db, query))


def tell(what: str, do: Callable[[], object], times: int = 15) -> None:
    walls, owns = [], []
    for _ in range(times):
        begin, cpu = time.perf_counter(), time.thread_time()
        do()
        walls.append((time.perf_counter() - begin) * 1e3)
        owns.append((time.thread_time() - cpu) * 1e3)
    print(f"{what}: median {statistics.median(walls):.1f} ms, worst {max(walls):.1f} ms, CPU {min(owns):.1f} ms")


if __name__ == "__main__":
    main()
