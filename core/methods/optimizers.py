"""A step of an optimizer along computed gradients, and loss scaling for float16."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.utils._pytree import tree_map_only

INITIAL_SCALE, GROWTH, BACKOFF, INTERVAL = 2.0**16, 2.0, 0.5, 2000
"""As in torch's GradScaler, which needs one loss and waits for the device unless optimizers are fused."""


class LossScale:
    """Scales gradients within networks alone: they enter at the outputs times the scale and leave at the inputs by it.

    Losses and what is between networks stay as they are. The scale halves when a gradient of a weight is not finite,
    in which case optimizers change nothing for the rest of the iteration, and doubles after 2000 iterations without.
    """

    def __init__(self, device: torch.device) -> None:
        self.scale = torch.full((), INITIAL_SCALE, device=device)
        self.growth = torch.zeros((), dtype=torch.int32, device=device)
        self.found_inf = torch.zeros((), device=device)

    def add_network(self, network: nn.Module) -> None:
        """Scale the gradients within every call of `network`."""
        network.register_forward_pre_hook(lambda _, inputs: tree_map_only(Tensor, self._enter, inputs))
        network.register_forward_hook(lambda _, inputs, outputs: tree_map_only(Tensor, self._leave, outputs))

    def add_optimizer(self, optimizer: Optimizer) -> None:
        """Make `apply_gradients` undo the scale for `optimizer`, which skips steps that are not finite."""
        extended: Any = optimizer  # fused optimizers read found_inf
        extended.loss_scale, extended.found_inf = self, self.found_inf

    def unscale(self, gradients: Sequence[Tensor]) -> None:
        torch._amp_foreach_non_finite_check_and_unscale_(list(gradients), self.found_inf, self.scale.reciprocal())

    def update(self) -> None:
        """End an iteration: change the scale if it was too large, or small enough for long."""
        torch._amp_update_scale_(self.scale, self.growth, self.found_inf, GROWTH, BACKOFF, INTERVAL)
        self.found_inf.zero_()

    def _enter(self, x: Tensor) -> Tensor:
        entered: Tensor = _ScaledGradient.apply(x, self.scale.reciprocal())  # type: ignore[no-untyped-call]
        return entered

    def _leave(self, x: Tensor) -> Tensor:
        left: Tensor = _ScaledGradient.apply(x, self.scale)  # type: ignore[no-untyped-call]
        return left

    def state(self) -> dict[str, Tensor]:
        return {"scale": self.scale, "growth": self.growth}

    def load_state(self, state: dict[str, Tensor]) -> None:
        self.scale.copy_(state["scale"])
        self.growth.copy_(state["growth"])


class _ScaledGradient(torch.autograd.Function):
    """x in float32; its gradient is multiplied by a factor before it is rounded to the type of x."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: Tensor) -> Tensor:
        ctx.save_for_backward(factor)
        ctx.dtype = x.dtype
        return x.float() if x.dtype != torch.float32 else x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (factor,) = ctx.saved_tensors
        return (gradient * factor).to(ctx.dtype), None


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
