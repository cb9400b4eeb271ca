"""The numbers that change between iterations, as tensors in fixed places: for a step that is captured once."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from core.methods.algorithm import Algorithm
from core.methods.batch import StepMetrics


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
        self.algorithm.captured_lambda = self.lambda_of
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

    def lambda_of(self, delay_epochs: int) -> Tensor:
        return self._tensors[f"lambda {delay_epochs}"]

    def contains(self, value: object) -> bool:
        return any(tensor is value for tensor in self._tensors.values())

    def with_numbers(self, metrics: StepMetrics) -> StepMetrics:
        """Return metrics with the current numbers in place of their tensors."""
        numbers = {id(tensor): self._values[name] for name, tensor in self._tensors.items()}
        on_host = {name: numbers.get(id(value), value) for name, value in metrics.on_host.items()}
        return StepMetrics(metrics.on_device, on_host)
