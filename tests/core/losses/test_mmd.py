"""Both estimates of MMD against loops over pairs."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from core.losses.mmd import mmd_linear, mmd_quadratic
from tests.core.losses.comparison import assert_same, drawn


def rows(count: int, seed: int, shift: float = 0.0) -> Tensor:
    return (drawn(count, 3, seed=seed) + shift).requires_grad_()


def bandwidth(source: Tensor, target: Tensor) -> float:
    """Return the mean squared distance over all ordered pairs of different rows of both batches."""
    points = [row.tolist() for row in torch.cat((source, target))]
    distances = [math.dist(x, y) ** 2 for i, x in enumerate(points) for j, y in enumerate(points) if i != j]
    return sum(distances) / len(distances)


def kernel(x: Tensor, y: Tensor, mean_distance: float, kernels: int, factor: float) -> Tensor:
    least = mean_distance / factor ** (kernels // 2)
    value = torch.zeros((), dtype=torch.float64)
    for u in range(kernels):
        value = value + torch.exp(-((x - y) ** 2).sum() / (least * factor**u))
    return value


def literal_linear(source: Tensor, target: Tensor, kernels: int, factor: float) -> Tensor:
    mean_distance = bandwidth(source, target)
    size, value = len(source), torch.zeros((), dtype=torch.float64)
    for i in range(size):
        j = (i + 1) % size
        for x, y, sign in (
            (source[i], source[j], 1),
            (target[i], target[j], 1),
            (source[i], target[j], -1),
            (source[j], target[i], -1),
        ):
            value = value + sign * kernel(x, y, mean_distance, kernels, factor)
    return value / size


def literal_quadratic(source: Tensor, target: Tensor, kernels: int, factor: float) -> Tensor:
    mean_distance = bandwidth(source, target)
    m, n = len(source), len(target)
    value = torch.zeros((), dtype=torch.float64)
    for batch, size in ((source, m), (target, n)):
        for i in range(size):
            for j in range(size):
                if i != j:
                    value = value + kernel(batch[i], batch[j], mean_distance, kernels, factor) / (size * (size - 1))
    for x in source:
        for y in target:
            value = value - 2 * kernel(x, y, mean_distance, kernels, factor) / (m * n)
    return value


@pytest.mark.parametrize(("kernels", "factor"), [(5, 2.0), (1, 2.0), (4, 3.0)])
@pytest.mark.parametrize(
    ("mmd", "literal", "sizes"),
    [
        *((mmd_linear, literal_linear, sizes) for sizes in ((2, 2), (7, 7))),
        *((mmd_quadratic, literal_quadratic, sizes) for sizes in ((2, 2), (7, 7), (4, 6))),
    ],
)
def test_mmd_equals_the_loops(
    mmd: Callable[..., Tensor], literal: Callable[..., Tensor], sizes: tuple[int, int], kernels: int, factor: float
) -> None:
    leaves = rows(sizes[0], 1), rows(sizes[1], 2, shift=0.5)
    assert_same(mmd(*leaves, kernels, factor), literal(*leaves, kernels, factor), *leaves, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("mmd", [mmd_linear, mmd_quadratic])
def test_mmd_is_larger_for_different_distributions(mmd: Callable[[Tensor, Tensor], Tensor]) -> None:
    alike = mmd(rows(200, 1), rows(200, 2))
    apart = mmd(rows(200, 1), rows(200, 2, shift=2.0))
    assert abs(alike.item()) < 0.3
    assert apart.item() > 1


@pytest.mark.parametrize("mmd", [mmd_linear, mmd_quadratic])
def test_equal_rows_give_zero_and_gradients_stay_finite(mmd: Callable[[Tensor, Tensor], Tensor]) -> None:
    equal = torch.ones(4, 3, requires_grad=True)
    large = (1e4 * torch.randn(8, 5, generator=torch.Generator().manual_seed(1))).requires_grad_()
    values = mmd(equal, torch.ones(4, 3)), mmd(large, -large.detach())
    assert values[0].item() == 0
    assert values[1].isfinite()
    assert all(gradient.isfinite().all() for gradient in torch.autograd.grad(values, (equal, large)))
