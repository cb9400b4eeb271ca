"""Gradient reversal (Ganin et al. 2016), which turns Eq. 10's minimax problem into one minimisation."""

from typing import Any

import torch
from torch import Tensor


class _Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, strength: Tensor | float) -> Tensor:
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient * -ctx.strength, None


def reverse_gradient(x: Tensor, strength: Tensor | float) -> Tensor:
    """x itself, whose gradient comes back times -strength (λ of Eq. 10; a number or a 0-dimensional tensor)."""
    reversed_: Tensor = _Reversal.apply(x, strength)  # type: ignore[no-untyped-call]
    return reversed_
