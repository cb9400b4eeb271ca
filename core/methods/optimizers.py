"""Optimizers: their choice, groups of parameters, and a step along computed gradients."""

from collections.abc import Sequence, Set
from typing import Any

from torch import Tensor, nn
from torch.optim import SGD, Adam, AdamW, Optimizer

from core.config import RunConfig, Stage1
from core.methods.loss_scale import LossScale


def build_optimizer(algorithm: str, groups: list[Any], rate: float, settings: RunConfig | Stage1) -> Optimizer:
    """Return sgd, adam or adamw, which keeps weight decay out of the moments."""
    common: dict[str, Any] = {"lr": rate, "weight_decay": settings.weight_decay, "fused": True}
    if algorithm == "sgd":
        return SGD(groups, momentum=settings.momentum, **common)
    return (Adam if algorithm == "adam" else AdamW)(groups, **common)


def parameter_groups(
    parameters: Sequence[nn.Parameter], backbone: Set[nn.Parameter], rate: float, factor: float
) -> list[Any]:
    """Return all parameters, or two groups if the backbone has a rate of its own; that of the first is recorded."""
    slow = [parameter for parameter in parameters if parameter in backbone]
    if factor == 1 or not slow:
        return list(parameters)
    fast = {"params": [parameter for parameter in parameters if parameter not in backbone]}
    return [fast, {"params": slow, "lr": rate * factor, "rate_factor": factor}]


def apply_gradients(optimizer: Optimizer, parameters: Sequence[nn.Parameter], gradients: Sequence[Tensor]) -> None:
    """Take one step of `optimizer` along computed gradients."""
    scale: LossScale | None = getattr(optimizer, "loss_scale", None)
    if scale:
        scale.unscale(gradients)
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient
    optimizer.step()
    for parameter in parameters:
        parameter.grad = None
