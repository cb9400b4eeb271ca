"""What it costs to record one iteration's eight metrics: in the training thread, and until they are durable.

python -m benchmarks.recording [--iterations N] [--rounds N]
Beside ours stand trackio, W&B offline and tensorboardX where they are installed (`pip install -e ".[peers]"`); all
take turns in one run. The training thread's cost is its own CPU time; until durable is wall time to the end of the
recorder's own closing, which for ours means in SQLite.
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

from clarinet_tui.history.database import Database
from clarinet_tui.history.ingest import ingest_run
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.journal_writer import JournalWriter
from core.events import Finished, Started, Stepped
from core.resolve import resolve

METRICS = (
    *("complementary_loss", "least_class_loss", "ascended", "adversarial_loss"),
    *("lambda", "entropy", "discriminator_accuracy", "samples_per_second"),
)
GOALS = {"in the thread": 10.0, "until durable": 25.0}
Measured = dict[str, float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iterations", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    recorders = {"clarinet": ours} | {name: record for name, record in PEERS.items() if importlib.util.find_spec(name)}
    found: dict[str, list[Measured]] = {name: [] for name in recorders}
    for _ in range(arguments.rounds):
        for name, record in recorders.items():
            with tempfile.TemporaryDirectory() as folder, silence():
                found[name].append(record(Path(folder), arguments.iterations))
    report(found)


@contextmanager
def silence() -> Iterator[None]:
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        yield


def values(iteration: int) -> dict[str, float]:
    return {name: iteration * 0.001 + place for place, name in enumerate(METRICS)}


def timed(iterations: int, record: Callable[[int], object], close: Callable[[], object]) -> Measured:
    """Microseconds an iteration."""
    wall, thread = time.perf_counter(), time.thread_time()
    for iteration in range(1, iterations + 1):
        record(iteration)
    thread = time.thread_time() - thread
    close()
    wall = time.perf_counter() - wall
    return {"in the thread": thread / iterations * 1e6, "until durable": wall / iterations * 1e6}


def ours(folder: Path, iterations: int) -> Measured:
    """Journal in the loop; then everything into SQLite, as the worker's other thread does."""
    run = RunDirectory.create(folder, resolve(preset="smoke", task="M->U", threads=1))
    Database.open(folder).close()
    journal = JournalWriter(run.journal)
    journal.append(_started(iterations))

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
                measured=values(iteration),
                seconds=0.1 * iteration,
            )
        )

    return timed(iterations, record, close)


def _started(iterations: int) -> Started:
    return Started(
        method="clarinet",
        task="M->U",
        seed=1,
        device="cpu",
        classes=["0", "1"],
        shape=[28, 28, 1],
        source_size=1,
        target_size=1,
        test_size=1,
        parameters=1,
        label_hash="",
        priors=[0.5, 0.5],
        stages=["clarinet"],
        epochs_total=1,
        iterations_total=iterations,
        notes=[],
    )


def trackio(folder: Path, iterations: int) -> Measured:
    os.environ["TRACKIO_DIR"] = str(folder)
    import trackio as peer

    peer.init(project="bench", embed=False)
    return timed(iterations, lambda iteration: peer.log(values(iteration)), peer.finish)


def wandb(folder: Path, iterations: int) -> Measured:
    os.environ.update(WANDB_MODE="offline", WANDB_SILENT="true", WANDB_DIR=str(folder))
    import wandb as peer

    logging.getLogger("wandb").setLevel(logging.ERROR)
    run = peer.init(project="bench", dir=str(folder), mode="offline")
    return timed(iterations, lambda iteration: run.log(values(iteration)), run.finish)


def tensorboard_x(folder: Path, iterations: int) -> Measured:
    from tensorboardX import SummaryWriter

    writer = SummaryWriter(str(folder))

    def record(iteration: int) -> None:
        for name, value in values(iteration).items():
            writer.add_scalar(name, value, iteration)

    return timed(iterations, record, writer.close)


PEERS: dict[str, Callable[[Path, int], Measured]] = {
    "trackio": trackio,
    "wandb": wandb,
    "tensorboardX": tensorboard_x,
}


def report(found: dict[str, list[Measured]]) -> None:
    print("Microseconds an iteration of eight metrics, median of the rounds")
    print(f"{'':<14}{'in the thread':>16}{'until durable':>16}")
    for name, rounds in found.items():
        cells = [statistics.median(one[what] for one in rounds) for what in GOALS]
        print(f"{name:<14}" + "".join(f"{cell:>16.1f}" for cell in cells))
    print(f"{'goal':<14}" + "".join(f"{goal:>16.1f}" for goal in GOALS.values()))
    absent = [name for name in PEERS if name not in found]
    if absent:
        print(f'Not installed: {", ".join(absent)} (pip install -e ".[peers]")')


if __name__ == "__main__":
    main()
