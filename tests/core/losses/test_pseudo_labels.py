"""A teacher's labels: confidence, balance and exclusion against literal formulations."""

import math

import pytest
import torch
from torch import Tensor

from core.losses.predictions import balance, confident_cross_entropy, likeliest_allowed


def probabilities(rows: int, classes: int, seed: int = 1) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn((rows, classes), generator=generator, dtype=torch.float64).mul(2).softmax(dim=1)


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
    loss.backward()  # type: ignore[no-untyped-call]
    assert logits.grad is not None
    torch.testing.assert_close(logits.grad, torch.tensor([[-1 / 3, 1 / 6, 1 / 6], [0, 0, 0]]))


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
