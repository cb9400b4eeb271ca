"""Iterations as graphs, with a stand-in that replays recorded operations on the CPU; wrong replays are refused."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from core.config import RunConfig
from core.errors import InputError
from core.events import Event, Finished, Noticed
from core.methods.algorithm import Algorithm, StepMetrics
from core.training import cuda_graph
from core.training.cuda_graph import CudaGraph, IterationRunner, SavedState, choose_iterate
from core.training.train import train
from tests.support.operations import make_algorithm, make_batch
from tests.support.tiny import steps, tiny_config, tiny_data

Operation = tuple[Any, Any, Any, Any]
"""Function, arguments, keywords and the result of the recording."""


class Tape(CudaGraph):
    """A stand-in for a CUDA graph: records operations and executes them again on the same memory, numbers included."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.replays = 0

    def capture(self, function: Callable[[], StepMetrics]) -> StepMetrics:
        with _Recorder(self.operations):
            return function()

    @torch.no_grad()
    def replay(self) -> None:
        self.replays += 1
        for operation in self.operations:
            self.execute(*operation)

    def execute(self, function: Any, args: Any, kwargs: Any, recorded: Any) -> None:
        """Execute an operation again; new results are copied to where the recording had them."""
        aliases = [value.alias_info for value in function._schema.returns]
        if torch.Tag.inplace_view in function.tags or any(
            alias is not None and not alias.is_write for alias in aliases
        ):
            return  # a view of memory that has the new values already
        result = function(*args, **kwargs)
        if not any(aliases):
            for old, new in zip(_tensors(recorded), _tensors(result), strict=True):
                old.copy_(new.reshape(old.shape))  # squeeze_ has changed it since


class _Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    def __init__(self, operations: list[Operation]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._operations = operations

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        if function.namespace != "profiler":
            self._operations.append((function, args, kwargs or {}, result))
        return result


def _tensors(result: Any) -> list[Tensor]:
    values = result if isinstance(result, tuple | list) else (result,)
    return [value for value in values if isinstance(value, Tensor)]


DATA = tiny_data()
graph_config = partial(tiny_config, cuda_graph="auto")


@pytest.fixture(autouse=True)
def short_phases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_graph, "MIN_ITERATIONS", 1)


@pytest.fixture
def tapes(monkeypatch: pytest.MonkeyPatch) -> list[Tape]:
    """Make runs use tapes as graphs; every tape is in the list."""
    made: list[Tape] = []

    def make_tape() -> Tape:
        made.append(Tape())
        return made[-1]

    use_graphs(monkeypatch, make_tape)
    return made


def use_graphs(monkeypatch: pytest.MonkeyPatch, make_graph: Callable[[], Tape], **options: bool) -> None:
    monkeypatch.setattr(
        cuda_graph,
        "choose_iterate",
        lambda algorithm, notices: IterationRunner(algorithm, make_graph, notices, **options).run,
    )


def losses(events: list[Event]) -> list[dict[str, float]]:
    return [
        {name: value for name, value in step.metrics.items() if name != "samples_per_second"} for step in steps(events)
    ]


@pytest.mark.parametrize("method", ["clarinet", "basset", "gac+dann"])
def test_a_run_of_graphs_gives_the_numbers_of_eager_steps(method: str, tapes: list[Tape]) -> None:
    """λ and rates change in every iteration."""
    config = graph_config(method, rate_decay="linear", warmup_epochs=1, epochs=1, epoch_iterations=8)
    replayed = list(train(config, data=DATA))
    used = len(tapes)
    assert not [event for event in replayed if isinstance(event, Noticed)]
    assert used >= 2, "warm-up and adaptation, or two stages"
    assert all(tape.replays >= 1 + 8 - cuda_graph.EAGER_ITERATIONS for tape in tapes)
    assert losses(replayed) == losses(eager_events(config))
    assert len(tapes) == used


def test_a_run_of_graphs_resumes_exactly(tapes: list[Tape], tmp_path: Path) -> None:
    """It begins with eager steps again, whose λ and rates are tensors too."""
    config = graph_config(warmup_epochs=0, epochs=1, epoch_iterations=9, rate_decay="linear")
    calls = iter([False] * 5 + [True])
    before = list(train(config, data=DATA, checkpoint_dir=tmp_path, should_stop=lambda: next(calls)))
    after = list(train(config, data=DATA, checkpoint_dir=tmp_path, resume=True))
    assert len(tapes) == 2
    assert not [event for event in after if isinstance(event, Noticed)]
    assert losses(before) + losses(after) == losses(list(train(config, data=DATA)))


def eager_events(config: RunConfig) -> list[Event]:
    """Train without a graph, with λ and rates as tensors."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cuda_graph, "EAGER_ITERATIONS", 10**9)
        return list(train(config, data=DATA))


class WithoutDraws(Tape):
    """A replay that draws the same random numbers again and again."""

    def execute(self, function: Any, *rest: Any) -> None:
        if "random_" not in str(function):
            super().execute(function, *rest)


class Twice(Tape):
    def replay(self) -> None:
        super().replay()
        super().replay()


class Nothing(Tape):
    def replay(self) -> None:
        pass


class FixedImages(Tape):
    """A replay on the images of the capture."""

    def capture(self, function: Callable[[], StepMetrics]) -> StepMetrics:
        metrics = super().capture(function)
        self.constants = [
            (args[0], args[0].clone()) for name, args, _, _ in self.operations if "convolution.default" in str(name)
        ][:1]
        return metrics

    def replay(self) -> None:
        for place, value in self.constants:
            place.copy_(value * 1.01)
        super().replay()


class FixedLambda(Tape):
    """A replay with the numbers of the capture instead of tensors."""

    def execute(self, function: Any, args: Any, kwargs: Any, recorded: Any) -> None:
        fixed = tuple(
            0.25 if isinstance(value, Tensor) and value.dim() == 0 and "mul" in str(function) else value
            for value in args
        )
        super().execute(function, fixed, kwargs, recorded)


class CannotCapture(Tape):
    def capture(self, function: Callable[[], StepMetrics]) -> StepMetrics:
        super().capture(function)
        raise RuntimeError("CUDA error: operation not permitted when stream is capturing\nCUDA kernel errors")


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (WithoutDraws, "a replay draws other random numbers than the step itself|changes the weights"),
        (Twice, "a replay changes the weights"),
        (Nothing, "a replay changes the weights"),
        (FixedImages, "a replay changes the weights"),
        (FixedLambda, "a replay changes the weights"),
        (CannotCapture, "operation not permitted when stream is capturing$"),
    ],
)
def test_a_wrong_replay_is_refused_once_and_the_run_is_as_without(
    wrong: type[Tape], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = graph_config(epochs=1, warmup_epochs=1, epoch_iterations=6)
    use_graphs(monkeypatch, wrong)
    events = list(train(config, data=DATA))
    notices = [event.message for event in events if isinstance(event, Noticed)]
    assert len(notices) == 1
    assert re.search(reason, notices[0])
    assert notices[0].startswith("the iterations run without a CUDA graph, more slowly: ")
    assert isinstance(events[-1], Finished)
    assert losses(events) == losses(eager_events(config)), "trying the graph has changed nothing"


def test_a_required_graph_that_fails_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    use_graphs(monkeypatch, Twice, required=True)
    with pytest.raises(InputError, match="cuda_graph: the step of warm-up cannot be a graph: a replay changes"):
        list(train(graph_config(epoch_iterations=6), data=DATA))


def test_numbers_that_a_method_computes_on_the_host_are_refused() -> None:
    algorithm = make_algorithm(tiny_config(warmup_epochs=0), "grey")
    step = algorithm.step

    def with_own_number(*arguments: Any) -> StepMetrics:
        metrics = step(*arguments)
        metrics.on_host["temperature"] = 0.5
        return metrics

    algorithm.step = with_own_number  # type: ignore[method-assign, assignment]
    notices: list[str] = []
    runner = IterationRunner(algorithm, Tape, notices)
    for iteration in range(1, 6):
        runner.run(make_batch(algorithm.problem.stage_plan, "grey"), iteration)
    (notice,) = notices
    assert "temperature is computed on the host" in notice


def test_a_snapshot_restores_everything_into_the_same_memory() -> None:
    algorithm = make_algorithm(tiny_config("basset", dropout=True, jitter=1.0, precision="fp16"), "grey")
    batch = make_batch(algorithm.problem.stage_plan, "grey")
    first = algorithm.problem.stage_plan.last_iteration - 3
    algorithm.iterate(batch, first)
    before, places = flat_state(algorithm), [tensor.data_ptr() for tensor in algorithm.classifier.parameters()]
    snapshot = SavedState(algorithm)
    algorithm.iterate(batch, first + 1)
    assert any(not torch.equal(*pair) for pair in zip(before, flat_state(algorithm), strict=True))
    snapshot.restore()
    assert all(torch.equal(*pair) for pair in zip(before, flat_state(algorithm), strict=True))
    assert [tensor.data_ptr() for tensor in algorithm.classifier.parameters()] == places


def flat_state(algorithm: Algorithm) -> list[Tensor]:
    leaves = torch.utils._pytree.tree_leaves(algorithm.state())
    return [leaf.clone() for leaf in leaves if isinstance(leaf, Tensor)]


def test_graphs_are_for_cuda_alone() -> None:
    with pytest.raises(InputError, match="cuda_graph: on needs a CUDA device, this is cpu; use auto"):
        list(train(tiny_config(cuda_graph="on"), data=DATA))
    algorithm = make_algorithm(tiny_config(cuda_graph="auto"), "grey")
    assert choose_iterate(algorithm, []) == algorithm.iterate


def test_graphs_are_off_unless_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(cuda_graph, "choose_iterate")
    assert isinstance(list(train(tiny_config(epochs=1), data=DATA))[-1], Finished)
