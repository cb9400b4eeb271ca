"""Losses of predictions, values and gradients, against literal formulations."""

import math

import pytest
import torch
from torch import Tensor

from core.losses.predictions import (
    balance,
    class_confusion,
    confident_cross_entropy,
    entropy,
    entropy_weights,
    information,
    information_loss,
    likeliest_allowed,
    log_scatter,
)
from tests.core.losses.comparison import assert_same, drawn


@pytest.fixture
def logits() -> Tensor:
    return drawn(9, 6, seed=4).requires_grad_()


def literal_scatter(logits: Tensor, exponent_divisor: float) -> Tensor:
    probabilities = logits.exp() / logits.exp().sum(dim=1, keepdim=True)
    raised = probabilities ** (1 / exponent_divisor)
    return raised / raised.sum(dim=1, keepdim=True)


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
    (gradient,) = torch.autograd.grad(weights.sum(), logits)
    assert weights.isfinite().all()
    assert gradient.isfinite().all()
    torch.testing.assert_close(weights.detach(), torch.tensor([2, 4 / 3, 2]), rtol=1e-4, atol=0)


def certain(labels: list[int], classes: int) -> Tensor:
    """Return logits whose softmax is one-hot to the last bit."""
    return 1e3 * torch.nn.functional.one_hot(torch.tensor(labels), classes).double()


def test_information_is_entropy_of_the_mean_minus_mean_entropy(logits: Tensor) -> None:
    p = literal_scatter(logits, 1.0)
    mean = p.mean(dim=0)
    expected = -(mean * mean.log()).sum() + (p * p.log()).sum(dim=1).mean()
    assert_same(information(logits.log_softmax(dim=1)), expected, logits)
    assert_same(information_loss(logits), -expected, logits)


def test_information_is_largest_for_certain_and_balanced_predictions() -> None:
    assert information_loss(certain([0, 1, 2, 0, 1, 2], 3)).item() == pytest.approx(-math.log(3))
    assert information_loss(certain([1, 1, 1], 3)).item() == pytest.approx(0), "one class says nothing"
    assert information_loss(torch.zeros(5, 3)).item() == pytest.approx(0, abs=1e-6), "neither does a guess"


@pytest.mark.parametrize("temperature", [1.0, 2.5])
def test_class_confusion_against_loops(temperature: float) -> None:
    logits = (2 * drawn(6, 3)).requires_grad_()
    p = torch.softmax(logits / temperature, dim=1)
    with torch.no_grad():
        h = torch.stack([-(row * row.log()).sum() for row in p])
        w = 6 * (1 + torch.exp(-h)) / (1 + torch.exp(-h)).sum()
    c = [[sum(w[i] * p[i, j] * p[i, k] for i in range(6)) for k in range(3)] for j in range(3)]
    off_diagonal = [c[j][k] / sum(c[j]) for j in range(3) for k in range(3) if j != k]
    expected = torch.stack([torch.as_tensor(value) for value in off_diagonal]).sum() / 3
    assert_same(class_confusion(logits, temperature), expected, logits)


def test_class_confusion_of_certain_and_of_uniform_predictions() -> None:
    assert class_confusion(certain([0, 1, 2], 3)).item() == pytest.approx(0)
    assert class_confusion(torch.zeros(5, 4)).item() == pytest.approx(3 / 4)


def probabilities(rows: int, classes: int, seed: int = 1) -> Tensor:
    return drawn(rows, classes, seed=seed).mul(2).softmax(dim=1)


@pytest.mark.parametrize("threshold", [0.0, 0.6, 0.999])
def test_only_confident_labels_count_in_a_mean_over_all(threshold: float) -> None:
    logits, predictions = torch.randn(9, 4, dtype=torch.float64), probabilities(9, 4)
    expected, count = 0.0, 0
    for row, prediction in zip(logits.tolist(), predictions.tolist(), strict=True):
        if max(prediction) > threshold:
            label = prediction.index(max(prediction))
            expected += math.log(sum(math.exp(value) for value in row)) - row[label]
            count += 1
    loss, share = confident_cross_entropy(logits, predictions, threshold)
    assert loss.item() == pytest.approx(expected / 9)
    assert share.item() == pytest.approx(count / 9)


def test_labels_that_are_not_confident_have_no_gradient() -> None:
    logits = torch.zeros(2, 3, requires_grad=True)
    loss, _ = confident_cross_entropy(logits, torch.tensor([[0.9, 0.05, 0.05], [0.5, 0.3, 0.2]]), 0.8)
    (gradient,) = torch.autograd.grad(loss, logits)
    torch.testing.assert_close(gradient, torch.tensor([[-1 / 3, 1 / 6, 1 / 6], [0, 0, 0]]))


def test_balance_divides_by_the_mean_and_normalises() -> None:
    predictions, mean = probabilities(5, 3), torch.tensor([0.6, 0.3, 0.1], dtype=torch.float64)
    balanced = balance(predictions, mean)
    for row, expected in zip(balanced.tolist(), predictions.tolist(), strict=True):
        scaled = [value / share for value, share in zip(expected, mean.tolist(), strict=True)]
        assert row == pytest.approx([value / sum(scaled) for value in scaled])


def test_balance_keeps_predictions_that_are_balanced_and_corrects_a_preferred_class() -> None:
    predictions = probabilities(5, 4)
    torch.testing.assert_close(balance(predictions, torch.full((4,), 0.25, dtype=torch.float64)), predictions)
    preferred = torch.tensor([[0.5, 0.3, 0.2]])
    assert balance(preferred, torch.tensor([0.8, 0.1, 0.1])).argmax().item() == 1


def test_likeliest_allowed_is_the_likeliest_class_given_that_the_complementary_labels_are_wrong() -> None:
    predictions = probabilities(50, 5)
    ybar = torch.randint(5, (50,), generator=torch.Generator().manual_seed(1))
    weights = torch.nn.functional.one_hot(ybar, 5).double()
    labels = likeliest_allowed(predictions, weights)
    for label, row, wrong in zip(labels.tolist(), predictions.tolist(), ybar.tolist(), strict=True):
        assert label == max((k for k in range(5) if k != wrong), key=row.__getitem__)
    assert (labels != predictions.argmax(dim=1)).any(), "some predictions are ruled out"


def test_likeliest_allowed_with_several_labels_and_with_no_probability_left() -> None:
    weights = torch.tensor([[0.5, 0.5, 0, 0], [0, 0, 0, 1.0], [1 / 3, 1 / 3, 0, 1 / 3]])
    predictions = torch.tensor([[0.4, 0.4, 0.05, 0.15], [0, 0, 0, 1.0], [0.3, 0.3, 0, 0.4]])
    labels = likeliest_allowed(predictions, weights).tolist()
    assert labels[0] == 3
    assert labels[1] != 3
    assert labels[2] == 2
