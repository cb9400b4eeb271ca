"""Memory does not grow: the short form of `python -m benchmarks.memory`."""

from benchmarks.memory import WARM, held_while_training

ITERATIONS = 1000


def test_memory_does_not_grow_with_iterations() -> None:
    first, *_, last = held_while_training(WARM + ITERATIONS, every=ITERATIONS)
    assert last.iteration - first.iteration == ITERATIONS
    assert last.objects - first.objects < ITERATIONS / 2, "iterations leave objects behind"
    assert last.megabytes - first.megabytes < 4
