"""Speed of training on a GPU: eager steps, CUDA graphs, and several runs at once: `python -m benchmarks.gpu`."""

import argparse
import multiprocessing
import os
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from core.config import RunConfig
from core.data.labels import draw_complementary
from core.data.task_data import ImageSet, TaskData
from core.events import Noticed, Stepped
from core.resolve import resolve

WARMUP = 200
"""Iterations before the measurement: kernels are chosen, and the graph is captured and checked."""
IMAGES = 20_000
"""Of each domain, so that reading them is not from a cache alone."""
SHAPES = {"LeNet 28×28×1": ("M->U", (28, 28, 1)), "DTN 32×32×3": ("S->M", (32, 32, 3))}


@dataclass(frozen=True)
class Measured:
    """One run."""

    speed: float
    """Iterations a second."""
    memory: int
    """Peak of the memory that torch reserved on the device, in bytes."""
    notices: tuple[str, ...]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--iterations", type=int, default=2000)
    parser.add_argument("--slots", type=int, nargs="*", default=[2, 3, 4], help="numbers of runs at once")
    parser.add_argument("--methods", nargs="*", default=["clarinet", "basset"])
    options = parser.parse_args(arguments)
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    import torch

    if not torch.cuda.is_available():
        print("No CUDA device: nothing was measured.")
        return
    print(describe_gpu())
    for method in options.methods:
        for name, (task, shape) in SHAPES.items():
            config = make_config(method, task, options.iterations)
            print(f"\n{method}, {name}, 128 + 128 images, adaptation: {count_operations(config, shape)} operations")
            report(config, shape, options.slots)


def make_config(method: str, task: str, iterations: int, **settings: Any) -> RunConfig:
    return resolve(
        method=method,
        task=task,
        preset="paper",
        warmup_epochs=0,
        epochs=1,
        epoch_iterations=WARMUP + iterations,
        **settings,
    )


def report(config: RunConfig, shape: tuple[int, int, int], slots: Sequence[int]) -> None:
    eager = run_at_once(config, shape, 1, "off")
    graph = run_at_once(config, shape, 1, "auto")
    _print("eager", eager, eager)
    _print("CUDA graph", graph, eager)
    refused = [notice for measured in graph for notice in measured.notices]
    print(f"  self-check: {'; '.join(refused) if refused else 'a replay gives the numbers of the step'}")
    for count in slots:
        _print(f"{count} runs, graphs", run_at_once(config, shape, count, "auto"), eager)


def _print(name: str, runs: Sequence[Measured], eager: Sequence[Measured]) -> None:
    speed, memory = sum(run.speed for run in runs), max(run.memory for run in runs)
    ratio = speed / sum(run.speed for run in eager)
    print(f"  {name:16} {speed:8.0f} iterations/s   ×{ratio:.2f}   {memory / 2**20:6.0f} MiB a run", flush=True)


def run_at_once(config: RunConfig, shape: tuple[int, int, int], count: int, cuda_graph: str) -> list[Measured]:
    """Train in `count` processes at the same time; each starts to measure when all are ready."""
    context = multiprocessing.get_context("spawn")
    chosen = msgspec.structs.replace(config, cuda_graph=cuda_graph)
    with context.Manager() as manager, ProcessPoolExecutor(count, mp_context=context) as pool:
        barrier = manager.Barrier(count)
        return list(pool.map(measure, [chosen] * count, [shape] * count, [barrier] * count))


def measure(config: RunConfig, shape: tuple[int, int, int], barrier: Any = None) -> Measured:
    """Train once on noise, and measure after the first iterations."""
    import torch

    from core.training.train import train

    notices, start, iteration = [], 0.0, 0
    for event in train(config, data=make_noise(shape)):
        if isinstance(event, Noticed):
            notices.append(event.message)
        if isinstance(event, Stepped):
            iteration = event.iteration
            if not start and iteration >= WARMUP:
                if barrier:
                    barrier.wait()
                start, first = time.perf_counter(), iteration
    speed = (iteration - first) / (time.perf_counter() - start)
    memory = torch.cuda.max_memory_reserved() if torch.cuda.is_available() else 0
    return Measured(speed, memory, tuple(notices))


def count_operations(config: RunConfig, shape: tuple[int, int, int]) -> int:
    """Return the operations of one iteration without views, as a GPU gets them without a graph."""
    import torch

    from benchmarks.operations import OperationLog, count_launches
    from core.data.batches import normalise
    from core.methods import find_method
    from core.methods.algorithm import Batch, StageProblem, load_algorithm
    from core.methods.plan import make_plan

    stage = make_plan(config, find_method(config.method), 1000, 1000)[-1]
    cpu = torch.device("cpu")
    algorithm = load_algorithm(stage.spec)(StageProblem(config, stage, shape, 10, torch.full((10,), 0.1), cpu))
    algorithm.saves_launches = True
    images = normalise(torch.zeros((4, *shape), dtype=torch.uint8), channels_last=True)
    batch = Batch(images, images, weights=torch.eye(10)[:4])
    for iteration in (1, 2):
        algorithm.iterate(batch, iteration)
    with OperationLog() as log:
        algorithm.iterate(batch, 3)
    return count_launches(log.operations)


def make_noise(shape: tuple[int, int, int]) -> TaskData:
    def images(count: int, seed: int) -> ImageSet:
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 10, count)
        return ImageSet(rng.integers(0, 256, (count, *shape), dtype=np.uint8), y, draw_complementary(y, 10, 1, seed))

    return TaskData(images(IMAGES, 1), None, images(IMAGES, 2), images(100, 3), tuple("0123456789"), ())


def describe_gpu() -> str:
    import torch

    properties: Any = torch.cuda.get_device_properties(0)
    memory = f"{properties.total_memory / 2**30:.0f} GiB"
    versions = f"torch {torch.__version__}, CUDA {torch.version.cuda}, cuDNN {torch.backends.cudnn.version()}"  # type: ignore[no-untyped-call]
    return f"{properties.name}, {memory}, compute capability {properties.major}.{properties.minor}; {versions}"


if __name__ == "__main__":
    main()
