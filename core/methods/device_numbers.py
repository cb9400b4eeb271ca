"""The numbers that change between iterations, as tensors in fixed places: for a step that is captured once."""

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from core.methods.algorithm import Algorithm


class DeviceNumbers:
    """λ and the learning rates of an algorithm; within `with`, its step uses the tensors instead of numbers."""

    def __init__(self, algorithm: "Algorithm") -> None:
        self._algorithm = algorithm
        self._groups = {
            f"rate {name} {index}": group
            for name, optimizer in algorithm.optimizers.items()
            for index, group in enumerate(optimizer.param_groups)
        }
        self._delays = {f"lambda {delay}": delay for delay in (0, algorithm.config.entropy_lambda_delay)}
        names = [*self._groups, *self._delays]
        self._tensors = {name: torch.zeros((), device=algorithm.problem.device) for name in names}
        self._filled: dict[str, float] = {}
        self._before: list[tuple[dict[str, Any], dict[str, Any]]] = []

    def __enter__(self) -> None:
        self._algorithm.device_numbers = self
        for name, group in self._groups.items():
            changed = {"lr": self._tensors[name]} | ({"capturable": True} if "capturable" in group else {})
            self._before.append((group, {key: group[key] for key in changed}))
            group.update(changed)

    def __exit__(self, *error: object) -> None:
        self._algorithm.device_numbers = None
        for group, values in self._before:
            group.update(values)
        self._before.clear()

    def lambda_of(self, delay_epochs: int) -> Tensor:
        return self._tensors[f"lambda {delay_epochs}"]

    def find(self, value: object) -> str | None:
        """Return the name of a number by its tensor."""
        return next((name for name, tensor in self._tensors.items() if tensor is value), None)

    def fill(self, iteration: int) -> dict[str, float]:
        """Set every tensor to its number at an iteration, for which the rates were set; return the numbers."""
        step = self._algorithm.problem.stage_plan.adaptation_step_of(iteration)
        values = {name: float(group["lr"]) for name, group in self._groups.items()}
        values |= {name: self._algorithm.lambda_at(step, delay) for name, delay in self._delays.items()}
        for name, value in values.items():
            if self._filled.get(name) != value:
                self._tensors[name].fill_(value)
                self._filled[name] = value
        return values
