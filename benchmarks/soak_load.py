"""Processes that record at a pace into one database, and two that read it meanwhile."""

import multiprocessing
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

from clarinet_tui.history.database import Database
from clarinet_tui.history.queries import list_runs, series
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.worker.recorder import Recorder
from core.events import Evaluated, Finished, Started, Stepped
from core.resolve import resolve

METRICS = ("complementary_loss", "least_class_loss", "ascended", "adversarial_loss", "lambda", "entropy")
TICK = 0.005
CHART_COLUMNS = 200


@dataclass(frozen=True)
class Sitting:
    """What one process has recorded."""

    iterations: int
    seconds: float
    longest: float
    """Seconds of the slowest `record`: training would have waited so long."""


@dataclass
class Watch:
    """Milliseconds of each look, of CPU and by the clock."""

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    def time(self, look: Callable[[], object]) -> None:
        wall, cpu = time.perf_counter(), time.thread_time()
        look()
        self.cpu.append((time.thread_time() - cpu) * 1e3)
        self.wall.append((time.perf_counter() - wall) * 1e3)


def record_and_watch(
    runs_dir: Path, processes: int, pace: int, seconds: float
) -> tuple[list[Sitting], dict[str, Watch]]:
    context = multiprocessing.get_context("spawn")
    names = [f"load{number}" for number in range(processes)]
    for name in names:
        RunDirectory.create(runs_dir, resolve(preset="smoke", task="U->M", name="load"), id=name)
    Database.open(runs_dir).close()
    over = context.Event()
    results: Any = context.Queue()
    looks = [context.Process(target=watch, args=(runs_dir, what, names, over, results)) for what in ("list", "chart")]
    workers = [context.Process(target=record, args=(runs_dir, name, pace, seconds, results)) for name in names]
    for process in looks + workers:
        process.start()
    sittings = [results.get() for _ in workers]
    over.set()
    watches = dict(results.get() for _ in looks)
    for process in looks + workers:
        process.join()
    return sittings, watches


def record(runs_dir: Path, name: str, pace: int, seconds: float, results: Any) -> None:
    """As a worker does, at a pace that does not depend on how long anything takes."""
    run, chance = RunDirectory(runs_dir, name), random.Random(name)
    recorder = Recorder(run, run.read_config(), print)
    recorder.record(started(total=int(pace * seconds)))
    began, at, longest = time.monotonic(), 0, 0.0
    while (passed := time.monotonic() - began) < seconds:
        for at in range(at + 1, int(passed * pace) + 1):  # noqa: B020 - it goes on where it was
            event = stepped(at, chance)
            before = time.perf_counter()
            recorder.record(event)
            longest = max(longest, time.perf_counter() - before)
            if at % pace == 0:
                recorder.record(evaluated(at))
        time.sleep(TICK)
    recorder.record(Finished(iteration=at, epoch=1, target_accuracy=50.0, source_accuracy=None))
    recorder.close()
    results.put(Sitting(at, seconds, longest))


def watch(runs_dir: Path, what: str, names: list[str], over: Event, results: Any) -> None:
    chance, seen = random.Random(what), Watch()
    with Database.open_read_only(runs_dir) as db:
        series(db, names[0], METRICS[0])  # numpy is loaded once
        while not over.is_set():
            if what == "list":
                seen.time(lambda: list_runs(db, limit=50))
            else:
                seen.time(lambda: series(db, chance.choice(names), chance.choice(METRICS), width=CHART_COLUMNS))
            time.sleep(0.05)
    results.put((what, seen))


def started(total: int) -> Started:
    return Started(
        method="clarinet",
        task="U->M",
        seed=1,
        device="cpu",
        classes=["0", "1"],
        shape=[28, 28, 1],
        source_size=100,
        target_size=100,
        test_size=50,
        parameters=1000,
        label_hash="abc",
        priors=[0.5, 0.5],
        stages=["clarinet"],
        epochs_total=1,
        iterations_total=total,
        notes=[],
    )


def stepped(at: int, chance: random.Random) -> Stepped:
    measured = {name: chance.random() for name in METRICS}
    return Stepped(iteration=at, epoch=1, adaptation_epoch=1, stage="clarinet", seconds=at / 2000, measured=measured)


def evaluated(at: int) -> Evaluated:
    return Evaluated(
        iteration=at,
        epoch=1,
        adaptation_epoch=1,
        stage="clarinet",
        seconds=at / 2000,
        target_accuracy=50.0,
        source_accuracy=None,
    )
