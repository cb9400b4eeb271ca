"""Memory does not grow: the short form of `python -m benchmarks.memory`."""

from benchmarks.memory import WARMUP, measure_while_training

ITERATIONS = 1000


def test_memory_does_not_grow_with_iterations() -> None:
    first, *_, last = measure_while_training(WARMUP + ITERATIONS, every=ITERATIONS)
    assert last.iteration - first.iteration == ITERATIONS
    assert last.objects - first.objects < ITERATIONS / 2, "iterations leak objects"
    assert last.megabytes - first.megabytes < 4
