"""Eq. 7 and 8, values and gradients, against probabilities raised to 1/l."""

import math

import pytest
import torch
from torch import Tensor

from core.losses.predictions import entropy, entropy_weights, information, log_scatter


@pytest.fixture
def logits() -> Tensor:
    return torch.randn(9, 6, generator=torch.Generator().manual_seed(4), dtype=torch.float64).requires_grad_()


def literal_scatter(logits: Tensor, exponent_divisor: float) -> Tensor:
    probabilities = logits.exp() / logits.exp().sum(dim=1, keepdim=True)
    raised = probabilities ** (1 / exponent_divisor)
    return raised / raised.sum(dim=1, keepdim=True)


def assert_same(ours: Tensor, expected: Tensor, logits: Tensor) -> None:
    torch.testing.assert_close(ours, expected, rtol=1e-12, atol=1e-13)
    direction = torch.randn(ours.shape, generator=torch.Generator().manual_seed(7), dtype=torch.float64)
    (our_gradient,) = torch.autograd.grad((ours * direction).sum(), logits, retain_graph=True)
    (gradient,) = torch.autograd.grad((expected * direction).sum(), logits, retain_graph=True)
    torch.testing.assert_close(our_gradient, gradient, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("l", [0.1, 0.5, 0.9, 1.0])
def test_scatter_is_eq_7(logits: Tensor, l: float) -> None:  # noqa: E741
    assert_same(log_scatter(logits, l).exp(), literal_scatter(logits, l), logits)
    assert_same(log_scatter(logits, l), literal_scatter(logits, l).log(), logits)


def test_scatter_at_its_limits() -> None:
    logits = torch.tensor([[0.2, 0.1, -0.3]], dtype=torch.float64)
    torch.testing.assert_close(log_scatter(logits, 1.0).exp(), logits.softmax(dim=1))
    torch.testing.assert_close(log_scatter(logits, 1e-3).exp(), torch.tensor([[1.0, 0, 0]], dtype=torch.float64))


@pytest.mark.parametrize("epsilon", [0.0, 1e-5, 0.1])
@pytest.mark.parametrize("l", [0.5, 1.0])
def test_entropy_is_eq_8(logits: Tensor, l: float, epsilon: float) -> None:  # noqa: E741
    p = literal_scatter(logits, l)
    expected = -(p * torch.log(p + epsilon)).sum(dim=1)
    assert_same(entropy(log_scatter(logits, l), epsilon), expected, logits)
    assert_same(entropy_weights(-entropy(log_scatter(logits, l), epsilon)), 1 + torch.exp(-expected), logits)


def test_entropy_bounds() -> None:
    log_p = torch.tensor([[0.25] * 4, [1 - 3e-12, 1e-12, 1e-12, 1e-12]], dtype=torch.float64).log()
    values = entropy(log_p)
    assert values[0].item() == pytest.approx(math.log(4))
    assert values[1].item() == pytest.approx(0, abs=1e-9)
    weights = entropy_weights(-values)
    assert weights[0].item() == pytest.approx(1.25)
    assert weights[1].item() == pytest.approx(2)


@pytest.mark.parametrize("epsilon", [0.0, 1e-5])
@pytest.mark.parametrize("size", [1e4, 1e30])
def test_extreme_logits_stay_finite(size: float, epsilon: float) -> None:
    logits = torch.tensor([[size, -size, 0.0], [0, 0, 0], [-size, -size, size]], requires_grad=True)
    weights = entropy_weights(-entropy(log_scatter(logits, 0.5), epsilon))
    weights.sum().backward()  # type: ignore[no-untyped-call]
    assert logits.grad is not None
    assert weights.isfinite().all()
    assert logits.grad.isfinite().all()
    torch.testing.assert_close(weights.detach(), torch.tensor([2, 4 / 3, 2]), rtol=1e-4, atol=0)


def test_information_of_constant_and_certain_predictions(logits: Tensor) -> None:
    same = torch.full((8, 4), 0.25, dtype=torch.float64).log()
    assert information(same).item() == pytest.approx(0, abs=1e-12)
    certain = (100 * torch.eye(4, dtype=torch.float64)).log_softmax(dim=1)
    assert information(certain).item() == pytest.approx(math.log(4))
    p = logits.detach().softmax(dim=1)
    mean = p.mean(dim=0)
    expected = -(mean * mean.log()).sum() + (p * p.log()).sum(dim=1).mean()
    assert information(p.log()).item() == pytest.approx(expected.item(), rel=1e-12)
    assert 0 < information(p.log()).item() < math.log(6)
