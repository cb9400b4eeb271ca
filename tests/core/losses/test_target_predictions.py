"""Information maximisation and minimum class confusion against literal formulations and their extremes."""

import math

import pytest
import torch
from torch import Tensor

from core.losses.predictions import class_confusion, information_loss


def drawn(*shape: int, seed: int = 1) -> Tensor:
    return 2 * torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def certain(labels: list[int], classes: int) -> Tensor:
    """Return logits whose softmax is one-hot to the last bit."""
    return 1e3 * torch.nn.functional.one_hot(torch.tensor(labels), classes).double()


def test_information_loss_is_mean_entropy_minus_entropy_of_the_mean() -> None:
    logits = drawn(7, 4)
    rows = [[math.exp(value) for value in row] for row in logits.tolist()]
    p = [[value / sum(row) for value in row] for row in rows]
    mean = [sum(row[k] for row in p) / 7 for k in range(4)]
    entropies = [-sum(value * math.log(value) for value in row) for row in p]
    expected = sum(entropies) / 7 + sum(value * math.log(value) for value in mean)
    assert information_loss(logits).item() == pytest.approx(expected, rel=1e-12)


def test_information_is_largest_for_certain_and_balanced_predictions() -> None:
    assert information_loss(certain([0, 1, 2, 0, 1, 2], 3)).item() == pytest.approx(-math.log(3))
    assert information_loss(certain([1, 1, 1], 3)).item() == pytest.approx(0), "one class says nothing"
    assert information_loss(torch.zeros(5, 3)).item() == pytest.approx(0, abs=1e-6), "neither does a guess"


@pytest.mark.parametrize("temperature", [1.0, 2.5])
def test_class_confusion_against_loops(temperature: float) -> None:
    logits = drawn(6, 3).requires_grad_()
    p = torch.softmax(logits / temperature, dim=1)
    with torch.no_grad():
        h = torch.stack([-(row * row.log()).sum() for row in p])
        w = 6 * (1 + torch.exp(-h)) / (1 + torch.exp(-h)).sum()
    c = [[sum(w[i] * p[i, j] * p[i, k] for i in range(6)) for k in range(3)] for j in range(3)]
    off_diagonal = [c[j][k] / sum(c[j]) for j in range(3) for k in range(3) if j != k]
    expected = torch.stack([torch.as_tensor(value) for value in off_diagonal]).sum() / 3
    ours = class_confusion(logits, temperature)
    torch.testing.assert_close(ours, expected, rtol=1e-12, atol=0)
    torch.testing.assert_close(
        torch.autograd.grad(ours, logits)[0], torch.autograd.grad(expected, logits)[0], rtol=1e-10, atol=1e-14
    )


def test_class_confusion_of_certain_and_of_uniform_predictions() -> None:
    assert class_confusion(certain([0, 1, 2], 3)).item() == pytest.approx(0)
    assert class_confusion(torch.zeros(5, 4)).item() == pytest.approx(3 / 4)
