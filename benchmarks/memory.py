"""Memory does not grow: `python -m benchmarks.memory` trains tiny networks for 10^5 iterations and prints what it held.

Everything that the product does in an iteration is done: batches, step, metrics, events and journal.
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
from core.data.complementary_labels import draw_complementary
from core.data.task_data import ImageSet, TaskData
from core.events import Stepped
from core.networks import Classifier, Discriminator, Dropout
from core.resolve import resolve
from core.training.train import train

ITERATIONS = 100_000
WARM = 500
"""Iterations until buffers, caches and allocators have their size."""
GOAL_MB = 8.0
CLASSES, SIDE, IMAGES, BATCH, WIDTH = 3, 4, 64, 4, 8


@dataclass(frozen=True)
class Held:
    """What the process held at one iteration."""

    iteration: int
    megabytes: float
    objects: int
    """Python objects that the collector knows."""


def held_while_training(iterations: int, every: int, method: str = "clarinet") -> Iterator[Held]:
    """Train for so many iterations, the first few as warm-up, and look at the process every so often."""
    process = psutil.Process()
    with tiny_networks(), tempfile.TemporaryDirectory() as folder, JournalWriter(Path(folder) / "journal") as journal:
        due = WARM
        for event in train(tiny_config(method, iterations), data=tiny_data()):
            journal.append(event)
            if isinstance(event, Stepped) and event.iteration == due:
                due = min(due + every, iterations)
                gc.collect()
                yield Held(event.iteration, process.memory_info().rss / 2**20, len(gc.get_objects()))


@contextmanager
def tiny_networks() -> Iterator[None]:
    """G, F and D of a few weights, so that only the loop itself takes time."""

    def classifier(network: str, shape: tuple[int, int, int], classes: int, weights: str = "") -> Classifier:
        layers = nn.Sequential(nn.Flatten(), nn.Linear(int(np.prod(shape)), WIDTH), nn.ReLU(), Dropout(0.5))
        return Classifier(layers, WIDTH, classes)

    with (
        patch("core.methods.algorithm.build_classifier", classifier),
        patch("core.methods.algorithm.build_discriminator", lambda inputs: Discriminator(inputs, hidden=WIDTH)),
    ):
        yield


def tiny_config(method: str, iterations: int) -> RunConfig:
    per_epoch = IMAGES // BATCH
    epochs, warmup = -(-iterations // per_epoch), WARM // per_epoch // 2
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
    random = np.random.default_rng(1)

    def images(seed: int) -> ImageSet:
        y = random.integers(0, CLASSES, IMAGES)
        x = random.integers(0, 256, (IMAGES, SIDE, SIDE, 1), dtype=np.uint8)
        return ImageSet(x, y, draw_complementary(y, CLASSES, 1, seed))

    return TaskData(images(1), images(2), images(3), images(4), tuple("abc"), ())


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.add_argument("--iterations", type=int, default=ITERATIONS)
    iterations = max(parser.parse_args().iterations, 2 * WARM)
    began = time.monotonic()
    print(f"{'iteration':>10} {'MB':>8} {'objects':>9}")
    seen = []
    for held in held_while_training(iterations, every=iterations // 10):
        seen.append(held)
        print(f"{held.iteration:>10} {held.megabytes:>8.1f} {held.objects:>9}", flush=True)
    grown, more = seen[-1].megabytes - seen[0].megabytes, seen[-1].objects - seen[0].objects
    pace = 1e3 * (time.monotonic() - began) / iterations
    print(f"Grown by {grown:+.1f} MB (goal: at most {GOAL_MB:g}) and {more:+d} objects; {pace:.2f} ms an iteration.")


if __name__ == "__main__":
    main()
