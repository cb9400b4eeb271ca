"""Iterations as CUDA graphs: one launch for a whole step, where small networks wait for hundreds.

Between the iterations of a phase only the images, λ and the rates differ. After a few eager iterations of a phase its
step is captured, with images, λ and rates in tensors of fixed places, and replayed once beside the eager step on the
same state. Only if both give the same numbers is the graph used.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from functools import partial
from typing import Any

import torch
from torch import Tensor

from core.errors import InputError
from core.methods.algorithm import Algorithm, Batch, StepMetrics


class DeviceNumbers:
    """λ and the learning rates of an algorithm."""

    def __init__(self, algorithm: Algorithm) -> None:
        self.algorithm = algorithm
        self._delays = {f"lambda {delay}": delay for delay in (0, algorithm.config.entropy_lambda_delay)}
        names = [*self._groups(), *self._delays]
        self._tensors = {name: torch.zeros((), device=algorithm.problem.device) for name in names}
        self._values = dict.fromkeys(names, 0.0)

    def _groups(self) -> dict[str, dict[str, Any]]:
        """Return the groups of all optimizers, which are other objects after a state was loaded."""
        return {
            f"rate {name} {index}": group
            for name, optimizer in self.algorithm.optimizers.items()
            for index, group in enumerate(optimizer.param_groups)
        }

    @contextmanager
    def set_to(self, iteration: int) -> Iterator[None]:
        """Give the tensors the numbers of an iteration, and the algorithm the tensors in place of numbers."""
        self.algorithm.set_rates(iteration)
        groups, step = self._groups(), self.algorithm.problem.stage_plan.adaptation_step_of(iteration)
        values = {name: float(group["lr"]) for name, group in groups.items()}
        values |= {name: self.algorithm.lambda_at(step, delay) for name, delay in self._delays.items()}
        for name, value in values.items():
            if self._values[name] != value:
                self._tensors[name].fill_(value)
        self._values = values
        self.algorithm.captured_lambda = lambda delay: self._tensors[f"lambda {delay}"]
        for name, group in groups.items():
            group["lr"] = self._tensors[name]
            if "capturable" in group:  # Adam asks for it; SGD needs none
                group["capturable"] = True
        try:
            yield
        finally:
            self.algorithm.captured_lambda = None
            for name, group in groups.items():
                group["lr"] = values[name]
                if "capturable" in group:
                    group["capturable"] = False

    def contains(self, value: object) -> bool:
        return any(tensor is value for tensor in self._tensors.values())

    def with_numbers(self, metrics: StepMetrics) -> StepMetrics:
        """Return metrics with the current numbers in place of their tensors."""
        numbers = {id(tensor): self._values[name] for name, tensor in self._tensors.items()}
        on_host = {name: numbers.get(id(value), value) for name, value in metrics.on_host.items()}
        return StepMetrics(metrics.on_device, on_host)


EAGER_ITERATIONS = 3
"""Iterations of a phase before capture: they create the state of optimizers, and libraries choose their kernels."""
MIN_ITERATIONS = 50
"""A phase with fewer left is not worth a capture."""
MAX_VALUES = 2**21
"""With more values in the images of a batch, a GPU has enough to do with each operation."""
TOLERANCE, ROUNDING = 1e-3, 2.0**-20
"""How much a replay may differ: relative to the change of a tensor, and to its largest value."""


class CudaGraph:
    """Operations that were recorded once and are executed again on the same memory."""

    def __init__(self, generators: Iterable[torch.Generator]) -> None:
        self._graph = torch.cuda.CUDAGraph()
        for generator in generators:
            self._graph.register_generator_state(generator)

    def capture(self, function: Callable[[], StepMetrics]) -> StepMetrics:
        """Record a function; what it returns is valid after the next replay."""
        stream = torch.cuda.current_stream()
        try:
            # Another thread may use CUDA meanwhile: the one that pins the memory of streamed images.
            with torch.cuda.graph(self._graph, capture_error_mode="thread_local"):
                return function()
        finally:
            torch.cuda.set_stream(stream)  # a failed capture leaves its own

    def replay(self) -> None:
        self._graph.replay()


class CapturedStep:
    """The step of one phase as a graph."""

    def __init__(self, numbers: DeviceNumbers, graph: CudaGraph, batch: Batch, iteration: int) -> None:
        self._numbers, self._graph = numbers, graph
        tensors: dict[str, Any] = {field.name: getattr(batch, field.name) for field in fields(batch)}
        self._batch = Batch(**{name: tensor.clone() for name, tensor in tensors.items() if tensor is not None})
        with numbers.set_to(iteration):
            self._metrics = graph.capture(lambda: numbers.algorithm.train_batch(self._batch, iteration))
        for name, value in self._metrics.on_host.items():
            if not numbers.contains(value):
                raise RuntimeError(f"{name} is computed on the host")

    def run(self, batch: Batch, iteration: int) -> StepMetrics:
        for field in fields(batch):
            fixed, new = getattr(self._batch, field.name), getattr(batch, field.name)
            if isinstance(new, Tensor):
                fixed.copy_(new)
        with self._numbers.set_to(iteration):
            self._graph.replay()
            return self._numbers.with_numbers(self._metrics)


class SavedState:
    """The state of an algorithm, restored into the same memory."""

    def __init__(self, algorithm: Algorithm) -> None:
        modules, optimizers = algorithm.modules.values(), algorithm.optimizers.values()
        tensors = [tensor for module in modules for tensor in (*module.parameters(), *module.buffers())]
        states = [state for optimizer in optimizers for state in optimizer.state.values()]
        tensors += [value for state in states for value in state.values() if isinstance(value, Tensor)]
        tensors += algorithm.loss_scale.state().values() if algorithm.loss_scale else ()
        self.tensors, self.values = tensors, [tensor.detach().clone() for tensor in tensors]
        self.generators = {generator: generator.get_state() for generator in algorithm.generators.values()}

    @torch.no_grad()
    def restore(self) -> None:
        for tensor, value in zip(self.tensors, self.values, strict=True):
            tensor.copy_(value)
        for generator, state in self.generators.items():
            generator.set_state(state)


class IterationRunner:
    """Runs the iterations of a stage, as graphs where they are possible."""

    def __init__(
        self, algorithm: Algorithm, make_graph: Callable[[], CudaGraph], notices: list[str], *, required: bool = False
    ) -> None:
        """`notices` gets the reason why CUDA graphs were disabled; if they are `required`, it is an InputError."""
        self._algorithm = algorithm
        self._notices = notices
        self._make_graph: Callable[[], CudaGraph] | None = make_graph
        self._required = required
        self._eager_iterations = {"warm-up": 0, "adaptation": 0}
        self._numbers = DeviceNumbers(algorithm)
        self._captured: dict[str, CapturedStep] = {}

    def run(self, batch: Batch, iteration: int) -> StepMetrics:
        phase, done, length = self._algorithm.problem.stage_plan.phase_of(iteration)
        if phase in self._captured:
            return self._captured[phase].run(batch, iteration)
        is_ready = self._eager_iterations[phase] >= EAGER_ITERATIONS and length - done >= MIN_ITERATIONS
        if self._make_graph and is_ready:
            self._capture(phase, batch, iteration, middle=iteration - done + length // 2)
            return self.run(batch, iteration)
        self._eager_iterations[phase] += 1
        with self._numbers.set_to(iteration):  # as in the graph, to the last bit: a resumed run has the same numbers
            return self._numbers.with_numbers(self._algorithm.train_batch(batch, iteration))

    def _capture(self, phase: str, batch: Batch, iteration: int, middle: int) -> None:
        """Add a graph that computes what the eager step does, or give up graphs and note the reason."""
        assert self._make_graph
        before = SavedState(self._algorithm)
        try:
            captured = CapturedStep(self._numbers, self._make_graph(), batch, iteration)
            before.restore()
            self._check(captured, before, batch, middle)
            self._captured[phase] = captured
        except RuntimeError as error:  # as torch raises when an operation cannot be captured
            reason = str(error).splitlines()[0]
            if self._required:
                raise InputError(f"cuda_graph: the step of {phase} cannot be a graph: {reason}; use auto") from error
            self._make_graph, self._captured = None, {}
            self._notices.append(f"the iterations run without a CUDA graph, more slowly: {reason}")
        finally:
            before.restore()

    def _check(self, captured: CapturedStep, before: SavedState, batch: Batch, iteration: int) -> None:
        """Compare a replay with the eager step at another λ and other rates: no number may be fixed in the graph."""
        results = []
        for run in (self._algorithm.iterate, captured.run):
            metrics = run(batch, iteration)
            copied = {name: value.detach().clone() for name, value in metrics.on_device.items()}
            results.append((SavedState(self._algorithm), copied, metrics.on_host))
            before.restore()
        (eager, eager_metrics, eager_numbers), (replayed, replayed_metrics, replayed_numbers) = results
        for old, expected, ours in zip(before.values, eager.values, replayed.values, strict=True):
            is_same = torch.equal(expected, ours)
            if expected.is_floating_point():
                allowed = TOLERANCE * (expected - old).abs().max() + ROUNDING * expected.abs().max()
                is_same = bool((expected - ours).abs().max() <= allowed)
            if not is_same:
                raise RuntimeError("a replay changes the weights otherwise than the step itself")
        if any(not torch.equal(state, replayed.generators[key]) for key, state in eager.generators.items()):
            raise RuntimeError("a replay draws other random numbers than the step itself")
        is_close = (
            torch.allclose(value, replayed_metrics[name], rtol=TOLERANCE, atol=1e-5, equal_nan=True)
            for name, value in eager_metrics.items()
        )
        if eager_numbers != replayed_numbers or not all(is_close):
            raise RuntimeError("a replay gives other metrics than the step itself")


def choose_iterate(algorithm: Algorithm, notices: list[str]) -> Callable[[Batch, int], StepMetrics]:
    """Return what trains an iteration: with CUDA graphs if cuda_graph is "on", or "auto" and the images are small."""
    problem, choice = algorithm.problem, algorithm.config.cuda_graph
    has_cuda = problem.device.type == "cuda"
    if choice == "on" and not has_cuda:
        raise InputError(f"cuda_graph: on needs a CUDA device, this is {problem.device}; use auto")
    height, width, channels = problem.shape
    is_small = 2 * problem.stage_plan.batch_size * height * width * channels <= MAX_VALUES
    has_own_state = type(algorithm).state is not Algorithm.state  # of a plug-in, which a snapshot would miss
    if not has_cuda or (choice == "auto" and not is_small) or has_own_state:
        return algorithm.iterate
    make_graph = partial(CudaGraph, algorithm.generators.values())
    return IterationRunner(algorithm, make_graph, notices, required=choice == "on").run
