"""Speed of the training loop, compared with a straightforward one and the bare limit: `python -m benchmarks.loop`.

The loops of a method take turns in short blocks in random order, so that other load affects all of them. Ratios are
taken within a round. The straightforward loop exists for CLARINET alone.
"""

import argparse
import os
import random
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import Protocol

import numpy as np

from core.config import RunConfig
from core.data.labels import draw_complementary
from core.data.task_data import ImageSet, TaskData
from core.resolve import resolve

DATA = "CLARINET_TEST_DATA"
WHOLE, STRAIGHTFORWARD, BARE = "whole loop", "straightforward", "bare limit"
MIN_SPEEDUP, MAX_OVERHEAD = 1.8, 1.05


class Contender(Protocol):
    def run(self, iterations: int) -> int:
        """Train for at least this many iterations, and return their number."""
        ...


def main() -> None:
    arguments = parse_arguments()
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # like the worker; read when torch is imported
    for method in ("clarinet", "basset"):
        config = resolve(
            method=method,
            task="M->U",
            preset="paper",
            warmup_epochs=0,
            evaluate_every=10_000,
            threads=arguments.threads,
        )
        data, origin = load_data(config)
        images, threads = f"{config.batch_size} + {config.batch_size} images", f"{config.threads} threads"
        print(f"{method}, M→U, LeNet, {images}, preset paper, adaptation; {threads}; {origin}")
        print(f"{arguments.rounds} rounds, {arguments.iterations} iterations of each in random order", flush=True)
        with make_contenders(config, data, arguments.workers) as contenders:
            report(measure(contenders, arguments.rounds, arguments.iterations))
        print()
    print(f"Load of the machine, including this benchmark: {os.getloadavg()[1]:.1f} on {os.cpu_count()} cores")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.loop", description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--iterations", type=int, default=15, help="iterations of each loop in a round")
    parser.add_argument("--workers", type=int, default=0, help="workers of the DataLoader of the straightforward loop")
    return parser.parse_args()


def load_data(config: RunConfig) -> tuple[TaskData, str]:
    """Load the real digits if available, otherwise noise of the same shapes, which takes as long."""
    folder = os.environ.get(DATA)
    if folder:
        from core.data.load import load_task

        return load_task(config, Path(folder)), f"MNIST and USPS from {DATA}"
    source, target, test = noise(60_000, 1), noise(7_291, 2), noise(100, 3)
    return TaskData(source, test, target, test, tuple("0123456789"), ()), f"noise ({DATA} is not set)"


def noise(count: int, seed: int) -> ImageSet:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 10, count)
    return ImageSet(rng.integers(0, 256, (count, 28, 28, 1), dtype=np.uint8), y, draw_complementary(y, 10, 1, seed))


@contextmanager
def make_contenders(config: RunConfig, data: TaskData, workers: int) -> Iterator[Mapping[str, Contender]]:
    from benchmarks.contenders import BareBasset, BareLimit, WholeLoop
    from benchmarks.straightforward import Straightforward

    with tempfile.TemporaryDirectory() as folder:
        whole = WholeLoop(config, data, Path(folder))
        if config.method == "basset":
            yield {WHOLE: whole, BARE: BareBasset(config, data)}
        else:
            yield {WHOLE: whole, STRAIGHTFORWARD: Straightforward(config, data, workers), BARE: BareLimit(config, data)}
        whole.close()


def measure(contenders: Mapping[str, Contender], rounds: int, iterations: int) -> Mapping[str, list[float]]:
    """Return the milliseconds an iteration of each loop, round by round; the first round only warms up."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    rng = random.Random(1)
    for number in range(rounds + 1):
        for name in rng.sample(sorted(contenders), len(contenders)):
            start = time.perf_counter()
            done = contenders[name].run(iterations)
            if number:
                times[name].append(1e3 * (time.perf_counter() - start) / done)
    return times


def report(times: Mapping[str, list[float]]) -> None:
    print(f"\n{'':24} {'median':>8}   quartiles")
    for name, values in times.items():
        low, _, high = quantiles(values, n=4)
        print(f"{name:24} {median(values):8.1f}   {low:.1f} to {high:.1f} ms an iteration")
    print()
    if STRAIGHTFORWARD in times:
        speedup = [slow / whole for slow, whole in zip(times[STRAIGHTFORWARD], times[WHOLE], strict=True)]
        report_ratio("straightforward / whole", speedup, f"at least {MIN_SPEEDUP:g}", median(speedup) >= MIN_SPEEDUP)
    overhead = [whole / bare for whole, bare in zip(times[WHOLE], times[BARE], strict=True)]
    report_ratio("whole / bare limit", overhead, f"at most {MAX_OVERHEAD:g}", median(overhead) <= MAX_OVERHEAD)


def report_ratio(name: str, ratios: list[float], goal: str, is_met: bool) -> None:
    low, _, high = quantiles(ratios, n=4)
    print(f"{name:24} {median(ratios):8.2f}   {low:.2f} to {high:.2f}   goal {goal}: {'met' if is_met else 'MISSED'}")


if __name__ == "__main__":
    main()
