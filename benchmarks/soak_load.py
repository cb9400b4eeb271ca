"""Processes that record at a fixed rate into one database while two others read it."""

import multiprocessing
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

from benchmarks.histories import LOAD_METRICS, random_step, started, steady_evaluation
from clarinet_tui.history.curves import read_series
from clarinet_tui.history.database import Database
from clarinet_tui.history.queries import list_runs
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.worker.recorder import Recorder
from core.events import Finished
from core.resolve import resolve

TICK = 0.005
CHART_COLUMNS = 200
KINDS = ("list", "chart")


@dataclass(frozen=True)
class RecorderResult:
    """How much one process has recorded."""

    iterations: int
    seconds: float
    longest: float
    """Seconds of the slowest call of `record`, for which training would have waited."""


@dataclass
class Timings:
    """CPU and wall milliseconds of each read."""

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    def time(self, read: Callable[[], object]) -> None:
        wall, cpu = time.perf_counter(), time.thread_time()
        read()
        self.cpu.append((time.thread_time() - cpu) * 1e3)
        self.wall.append((time.perf_counter() - wall) * 1e3)


def record_and_read(
    runs_dir: Path, processes: int, rate: int, seconds: float
) -> tuple[list[RecorderResult], dict[str, Timings]]:
    """Run the processes; return what each has recorded, and the timings of `list` and `chart`."""
    context = multiprocessing.get_context("spawn")
    names = [f"load{number}" for number in range(processes)]
    for name in names:
        RunDirectory.create(runs_dir, resolve(preset="smoke", task="U->M", name="load"), id=name)
    Database.open(runs_dir).close()
    finished = context.Event()
    results: Any = context.Queue()
    readers = [context.Process(target=read, args=(runs_dir, kind, names, finished, results)) for kind in KINDS]
    recorders = [context.Process(target=record, args=(runs_dir, name, rate, seconds, results)) for name in names]
    for process in readers + recorders:
        process.start()
    recorded = [results.get() for _ in recorders]
    finished.set()
    timings = dict(results.get() for _ in readers)
    for process in readers + recorders:
        process.join()
    return recorded, timings


def record(runs_dir: Path, name: str, rate: int, seconds: float, results: Any) -> None:
    """Record as a worker does, at a rate that does not depend on how long a call takes."""
    run, rng = RunDirectory(runs_dir, name), random.Random(name)
    recorder = Recorder(run, run.read_config(), print)
    recorder.record(started(int(rate * seconds)))
    start, iteration, longest = time.monotonic(), 0, 0.0
    while (elapsed := time.monotonic() - start) < seconds:
        for iteration in range(iteration + 1, int(elapsed * rate) + 1):  # noqa: B020 - continues from the last one
            event = random_step(iteration, rng)
            before = time.perf_counter()
            recorder.record(event)
            longest = max(longest, time.perf_counter() - before)
            if iteration % rate == 0:
                recorder.record(steady_evaluation(iteration))
        time.sleep(TICK)
    recorder.record(Finished(iteration=iteration, epoch=1, target_accuracy=50.0, source_accuracy=None))
    recorder.close()
    results.put(RecorderResult(iteration, seconds, longest))


def read(runs_dir: Path, kind: str, names: list[str], finished: Event, results: Any) -> None:
    """List runs or read curves until recording has finished."""
    rng, timings = random.Random(kind), Timings()
    with Database.open_read_only(runs_dir) as db:
        read_series(db, names[0], LOAD_METRICS[0])  # imports numpy
        while not finished.is_set():
            if kind == "list":
                timings.time(lambda: list_runs(db, limit=50))
            else:
                timings.time(lambda: read_series(db, rng.choice(names), rng.choice(LOAD_METRICS), width=CHART_COLUMNS))
            time.sleep(0.05)
    results.put((kind, timings))
