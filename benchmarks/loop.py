"""How fast the loop is: `python -m benchmarks.loop` races it against a straightforward one and the bare limit.

The three take turns in short blocks in random order, so that whatever else the machine does falls on all of them;
the ratios are those of the blocks of one round.
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
from core.data.complementary_labels import draw_complementary
from core.data.task_data import ImageSet, TaskData
from core.resolve import resolve

DATA = "CLARINET_TEST_DATA"
OURS, STRAIGHTFORWARD, BARE = "our whole loop", "straightforward", "bare limit"
LEAST_GAIN, MOST_OVERHEAD = 1.8, 1.05


class Contender(Protocol):
    def run(self, iterations: int) -> int:
        """Train at least so many iterations, and say how many they were."""
        ...


def main() -> None:
    arguments = parse()
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # as the worker has it; read when torch is loaded
    config = resolve(
        method="clarinet",
        task="M->U",
        preset="paper",
        warmup_epochs=0,
        evaluate_every=10_000,
        threads=arguments.threads,
    )
    data, origin = task_data(config)
    print(f"M→U, LeNet, 128 + 128 images, preset paper, adaptation; {arguments.threads} threads; {origin}")
    print(f"{arguments.rounds} rounds, {arguments.iterations} iterations of each in random order", flush=True)
    with contenders(config, data, arguments.workers) as racing:
        report(race(racing, arguments.rounds, arguments.iterations))
    print(f"\nLoad of the machine, this included: {os.getloadavg()[1]:.1f} on {os.cpu_count()} cores")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.loop", description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--iterations", type=int, default=15, help="of each contender in a round")
    parser.add_argument("--workers", type=int, default=0, help="of the straightforward one's DataLoader")
    return parser.parse_args()


def task_data(config: RunConfig) -> tuple[TaskData, str]:
    """The real digits where they are, otherwise noise of their shapes, which takes as long."""
    folder = os.environ.get(DATA)
    if folder:
        from core.data.load import load_task

        return load_task(config, Path(folder)), f"MNIST and USPS of {DATA}"
    source, target, test = noise(60_000, 1), noise(7_291, 2), noise(100, 3)
    return TaskData(source, test, target, test, tuple("0123456789"), ()), f"noise of their shapes ({DATA} is not set)"


def noise(count: int, seed: int) -> ImageSet:
    drawn = np.random.default_rng(seed)
    y = drawn.integers(0, 10, count)
    return ImageSet(drawn.integers(0, 256, (count, 28, 28, 1), dtype=np.uint8), y, draw_complementary(y, 10, 1, seed))


@contextmanager
def contenders(config: RunConfig, data: TaskData, workers: int) -> Iterator[Mapping[str, Contender]]:
    from benchmarks.contenders import BareLimit, WholeLoop
    from benchmarks.straightforward import Straightforward

    with tempfile.TemporaryDirectory() as folder:
        ours = WholeLoop(config, data, Path(folder))
        yield {OURS: ours, STRAIGHTFORWARD: Straightforward(config, data, workers), BARE: BareLimit(config, data)}
        ours.close()


def race(racing: Mapping[str, Contender], rounds: int, iterations: int) -> Mapping[str, list[float]]:
    """Milliseconds an iteration of each contender, round by round; a first round only warms up."""
    spent: dict[str, list[float]] = {name: [] for name in racing}
    order = random.Random(1)
    for number in range(rounds + 1):
        for name in order.sample(sorted(racing), len(racing)):
            began = time.perf_counter()
            done = racing[name].run(iterations)
            if number:
                spent[name].append(1e3 * (time.perf_counter() - began) / done)
    return spent


def report(spent: Mapping[str, list[float]]) -> None:
    print(f"\n{'':24} {'median':>8}   middle half")
    for name, times in spent.items():
        low, _, high = quantiles(times, n=4)
        print(f"{name:24} {median(times):8.1f}   {low:.1f} to {high:.1f} ms an iteration")
    gain = [slow / ours for slow, ours in zip(spent[STRAIGHTFORWARD], spent[OURS], strict=True)]
    overhead = [ours / bare for ours, bare in zip(spent[OURS], spent[BARE], strict=True)]
    print()
    judge("straightforward / ours", gain, f"at least {LEAST_GAIN:g}", median(gain) >= LEAST_GAIN)
    judge("ours / bare limit", overhead, f"at most {MOST_OVERHEAD:g}", median(overhead) <= MOST_OVERHEAD)


def judge(name: str, ratios: list[float], goal: str, met: bool) -> None:
    low, _, high = quantiles(ratios, n=4)
    print(f"{name:24} {median(ratios):8.2f}   {low:.2f} to {high:.2f}; goal: {goal}, {'met' if met else 'missed'}")


if __name__ == "__main__":
    main()
