"""Memory growth while tiny networks train for 10^5 iterations: `python -m benchmarks.memory`.

An iteration includes everything the worker does: batches, step, metrics, events and journal.
"""

import argparse
import gc
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import numpy as np
import psutil
from torch import nn

from clarinet_tui.runs.journal_writer import JournalWriter
from core.config import RunConfig
from core.data.labels import draw_complementary
from core.data.task_data import ImageSet, TaskData
from core.dropout import Dropout
from core.events import Stepped
from core.networks import Classifier, Discriminator
from core.resolve import resolve
from core.training.train import train

ITERATIONS = 100_000
WARMUP = 500
"""Iterations until buffers, caches and allocators have reached their size."""
GOAL_MB = 8.0
CLASSES, SIDE, IMAGES, BATCH, WIDTH = 3, 4, 64, 4, 8


@dataclass(frozen=True)
class MemoryUse:
    """The memory of the process at one iteration."""

    iteration: int
    megabytes: float
    objects: int
    """Python objects that the garbage collector tracks."""


def measure_while_training(iterations: int, every: int, method: str = "clarinet") -> Iterator[MemoryUse]:
    """Train, and yield the memory use after the warm-up and then every few iterations."""
    process = psutil.Process()
    with tiny_networks(), tempfile.TemporaryDirectory() as folder, JournalWriter(Path(folder) / "journal") as journal:
        due = WARMUP
        for event in train(tiny_config(method, iterations), data=tiny_data()):
            journal.append(event)
            if isinstance(event, Stepped) and event.iteration == due:
                due = min(due + every, iterations)
                gc.collect()
                yield MemoryUse(event.iteration, process.memory_info().rss / 2**20, len(gc.get_objects()))


@contextmanager
def tiny_networks() -> Iterator[None]:
    """Replace G, F and D by networks of a few weights, so that most of the time is spent in the loop itself."""

    def classifier(config: RunConfig, shape: tuple[int, int, int], classes: int) -> Classifier:
        layers = nn.Sequential(nn.Flatten(), nn.Linear(int(np.prod(shape)), WIDTH), nn.ReLU(), Dropout(0.5))
        return Classifier(layers, WIDTH, classes)

    with (
        patch("core.methods.algorithm.build_classifier", classifier),
        patch("core.methods.algorithm.Discriminator", lambda inputs: Discriminator(inputs, hidden=WIDTH)),
    ):
        yield


def tiny_config(method: str, iterations: int) -> RunConfig:
    per_epoch = IMAGES // BATCH
    epochs, warmup = -(-iterations // per_epoch), WARMUP // per_epoch // 2
    return resolve(
        {"stage1": {"batch_size": BATCH}},
        method=method,
        task="M->U",
        warmup_epochs=warmup,
        epochs=epochs - warmup,
        batch_size=BATCH,
        evaluate_every=epochs,
        threads=1,
    )


def tiny_data() -> TaskData:
    rng = np.random.default_rng(1)

    def images(seed: int) -> ImageSet:
        y = rng.integers(0, CLASSES, IMAGES)
        x = rng.integers(0, 256, (IMAGES, SIDE, SIDE, 1), dtype=np.uint8)
        return ImageSet(x, y, draw_complementary(y, CLASSES, 1, seed))

    return TaskData(images(1), images(2), images(3), images(4), tuple("abc"), ())


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.add_argument("--iterations", type=int, default=ITERATIONS)
    iterations = max(parser.parse_args().iterations, 2 * WARMUP)
    start = time.monotonic()
    print(f"{'iteration':>10} {'MB':>8} {'objects':>9}")
    samples = []
    for use in measure_while_training(iterations, every=iterations // 10):
        samples.append(use)
        print(f"{use.iteration:>10} {use.megabytes:>8.1f} {use.objects:>9}", flush=True)
    first, last = samples[0], samples[-1]
    growth = last.megabytes - first.megabytes
    milliseconds = 1e3 * (time.monotonic() - start) / iterations
    print(f"Growth: {growth:+.1f} MB, {last.objects - first.objects:+d} objects; {milliseconds:.2f} ms an iteration.")
    print(f"  goal: at most {GOAL_MB:g} MB: {'met' if growth <= GOAL_MB else 'MISSED'}")


if __name__ == "__main__":
    main()
