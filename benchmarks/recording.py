"""Cost of recording the eight metrics of an iteration: in the training thread, and until they are durable.

python -m benchmarks.recording [--iterations N] [--rounds N]
Compared with trackio, W&B offline and tensorboardX where installed (`pip install -e ".[peers]"`); all take turns. The
cost in the training thread is its CPU time; "until durable" is wall time until the recorder is closed, which for
Clarinet means that everything is in SQLite.
"""

import argparse
import importlib.util
import logging
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

from benchmarks.histories import started
from clarinet_tui.history.database import Database
from clarinet_tui.history.ingest import ingest_run
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.journal_writer import JournalWriter
from core.events import Finished, Stepped
from core.resolve import resolve

METRICS = (
    *("complementary_loss", "least_class_loss", "ascended", "adversarial_loss"),
    *("lambda", "entropy", "discriminator_accuracy", "samples_per_second"),
)
GOALS = {"in the thread": 10.0, "until durable": 25.0}
Costs = dict[str, float]
"""Microseconds an iteration, by the names of GOALS."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iterations", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    recorders = {"clarinet": clarinet} | {name: run for name, run in PEERS.items() if importlib.util.find_spec(name)}
    costs: dict[str, list[Costs]] = {name: [] for name in recorders}
    for _ in range(arguments.rounds):
        for name, measure in recorders.items():
            with tempfile.TemporaryDirectory() as folder, no_output():
                costs[name].append(measure(Path(folder), arguments.iterations))
    report(costs)


@contextmanager
def no_output() -> Iterator[None]:
    with Path(os.devnull).open("w") as null, redirect_stdout(null), redirect_stderr(null):
        yield


def metrics(iteration: int) -> dict[str, float]:
    return {name: iteration * 0.001 + number for number, name in enumerate(METRICS)}


def time_recorder(iterations: int, record: Callable[[int], object], close: Callable[[], object]) -> Costs:
    wall, thread = time.perf_counter(), time.thread_time()
    for iteration in range(1, iterations + 1):
        record(iteration)
    thread = time.thread_time() - thread
    close()
    wall = time.perf_counter() - wall
    return {"in the thread": thread / iterations * 1e6, "until durable": wall / iterations * 1e6}


def clarinet(folder: Path, iterations: int) -> Costs:
    """Write the journal in the loop, then ingest it, as the worker's other thread does."""
    run = RunDirectory.create(folder, resolve(preset="smoke", task="M->U", threads=1))
    Database.open(folder).close()
    journal = JournalWriter(run.journal)
    journal.append(started(iterations))

    def close() -> None:
        journal.append(Finished(iteration=iterations, epoch=1, target_accuracy=None, source_accuracy=None))
        journal.close()
        with Database.open(folder) as db:
            ingest_run(db, run)

    def record(iteration: int) -> None:
        journal.append(
            Stepped(
                iteration=iteration,
                epoch=1,
                adaptation_epoch=None,
                stage="clarinet",
                metrics=metrics(iteration),
                seconds=0.1 * iteration,
            )
        )

    return time_recorder(iterations, record, close)


def trackio(folder: Path, iterations: int) -> Costs:
    os.environ["TRACKIO_DIR"] = str(folder)
    import trackio as peer

    peer.init(project="bench", embed=False)
    return time_recorder(iterations, lambda iteration: peer.log(metrics(iteration)), peer.finish)


def wandb(folder: Path, iterations: int) -> Costs:
    os.environ.update(WANDB_MODE="offline", WANDB_SILENT="true", WANDB_DIR=str(folder))
    import wandb as peer

    logging.getLogger("wandb").setLevel(logging.ERROR)
    run = peer.init(project="bench", dir=str(folder), mode="offline")
    return time_recorder(iterations, lambda iteration: run.log(metrics(iteration)), run.finish)


def tensorboard_x(folder: Path, iterations: int) -> Costs:
    from tensorboardX import SummaryWriter

    writer = SummaryWriter(str(folder))

    def record(iteration: int) -> None:
        for name, value in metrics(iteration).items():
            writer.add_scalar(name, value, iteration)

    return time_recorder(iterations, record, writer.close)


PEERS: dict[str, Callable[[Path, int], Costs]] = {
    "trackio": trackio,
    "wandb": wandb,
    "tensorboardX": tensorboard_x,
}


def report(costs: dict[str, list[Costs]]) -> None:
    print("Microseconds to record eight metrics of an iteration, median of the rounds")
    print(f"{'':<14}{'in the thread':>16}{'until durable':>16}")
    for name, rounds in costs.items():
        cells = [statistics.median(cost[kind] for cost in rounds) for kind in GOALS]
        print(f"{name:<14}" + "".join(f"{cell:>16.1f}" for cell in cells))
    print(f"{'goal':<14}" + "".join(f"{goal:>16.1f}" for goal in GOALS.values()))
    medians = {kind: statistics.median(cost[kind] for cost in costs["clarinet"]) for kind in GOALS}
    verdicts = ("met" if medians[kind] <= goal else "MISSED" for kind, goal in GOALS.items())
    print(f"{'':<14}" + "".join(f"{verdict:>16}" for verdict in verdicts))
    absent = [name for name in PEERS if name not in costs]
    if absent:
        print(f'Not installed: {", ".join(absent)} (pip install -e ".[peers]")')


if __name__ == "__main__":
    main()
