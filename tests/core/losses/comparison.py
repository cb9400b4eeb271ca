"""Random inputs of losses, and the comparison of a loss with its literal formulation."""

import torch
from torch import Tensor


def drawn(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def assert_same(ours: Tensor, expected: Tensor, *leaves: Tensor, rtol: float = 1e-12, atol: float = 1e-13) -> None:
    """Compare values, and the gradients of their sum in a random direction; those are a hundred times less exact."""
    torch.testing.assert_close(ours, expected, rtol=rtol, atol=atol)
    direction = drawn(*ours.shape, seed=7)
    gradients = [
        torch.autograd.grad((value * direction).sum(), leaves, retain_graph=True) for value in (ours, expected)
    ]
    for our_gradient, gradient in zip(*gradients, strict=True):
        torch.testing.assert_close(our_gradient, gradient, rtol=100 * rtol, atol=10 * atol)
