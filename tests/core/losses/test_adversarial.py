"""Eq. 9 with its gradients, D's input, and gradient reversal."""

import itertools
from typing import Literal

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from core.losses.adversarial import adversarial_loss, discriminator_accuracy, domain_input, reverse_gradient
from core.losses.predictions import entropy_weights, log_scatter, minus_entropy
from core.networks import Discriminator
from tests.core.losses.comparison import assert_same, drawn

Terms = Literal["mean", "sum"]


def signed(source: Tensor, target: Tensor) -> Tensor:
    """Return scores that are positive where D is right."""
    scores = Discriminator(1).double().signed(torch.cat((source, target)))
    assert torch.equal(scores, torch.stack((source, -target)))
    return scores


def literal_terms(
    source: Tensor, target: Tensor, source_weights: Tensor, target_weights: Tensor, *, detach: bool
) -> tuple[Tensor, Tensor]:
    """Return the two fractions of Eq. 9, sample by sample, for D = σ(score)."""
    fractions = []
    for scores, weights, is_source in ((source, source_weights, True), (target, target_weights, False)):
        above = torch.zeros((), dtype=torch.float64)
        for score, weight in zip(scores, weights, strict=True):
            d = 1 / (1 + torch.exp(-score))
            above = above + weight * torch.log(d if is_source else 1 - d)
        below = sum(weights.detach() if detach else weights)
        fractions.append(above / below)
    return fractions[0], fractions[1]


@pytest.mark.parametrize(("terms", "detach"), itertools.product(("mean", "sum"), (False, True)))
def test_adversarial_loss_is_minus_eq_9(terms: Terms, detach: bool) -> None:
    inputs = [
        drawn(7, seed=1).requires_grad_(),
        drawn(7, seed=2).requires_grad_(),
        (1 + drawn(7, seed=3).sigmoid()).requires_grad_(),
        (1 + drawn(7, seed=4).sigmoid()).requires_grad_(),
    ]
    ours = adversarial_loss(signed(*inputs[:2]), torch.stack(inputs[2:]), terms=terms, detach_sums=detach)
    source, target = literal_terms(*inputs, detach=detach)
    expected = -(source + target) / (2 if terms == "mean" else 1)
    assert_same(ours, expected, *inputs, atol=1e-15)
    assert ours > 0


def test_unit_weights_give_the_loss_of_dann() -> None:
    source, target = drawn(8, seed=1), drawn(8, seed=2)
    ones = torch.ones(8, dtype=torch.float64)
    scores, domains = torch.cat((source, target)), torch.cat((ones, 0 * ones))
    expected = functional.binary_cross_entropy_with_logits(scores, domains)
    ours = adversarial_loss(signed(source, target), torch.stack((ones, ones)), terms="mean", detach_sums=True)
    torch.testing.assert_close(ours, expected, rtol=1e-12, atol=0)


@pytest.mark.parametrize("epsilon", [0.0, 1e-5])
@pytest.mark.parametrize(("detach_predictions", "detach_sums"), itertools.product((False, True), repeat=2))
def test_adversarial_loss_and_gradients_from_features_and_logits(
    epsilon: float, detach_predictions: bool, detach_sums: bool
) -> None:
    """From features and logits to L_adv, against Eq. 7, 8 and 9 written out in probabilities."""
    features, layer, d = drawn(10, 4, seed=1), drawn(4, 3, seed=2), drawn(12, seed=3)
    for leaf in (features, layer, d):
        leaf.requires_grad_()

    log_t = log_scatter(features @ layer, 0.5)
    minus_h, predictions = minus_entropy(log_t, epsilon)
    weights = entropy_weights(minus_h).view(2, 5)
    scores = domain_input(features, predictions.detach() if detach_predictions else predictions) @ d
    ours = adversarial_loss(signed(scores[:5], scores[5:]), weights, terms="mean", detach_sums=detach_sums)

    f = (features @ layer).exp() / (features @ layer).exp().sum(dim=1, keepdim=True)
    t = f**2 / (f**2).sum(dim=1, keepdim=True)
    omega = 1 + torch.exp((t * torch.log(t + epsilon)).sum(dim=1))
    outer = torch.einsum("bk,bw->bkw", t.detach() if detach_predictions else t, features).reshape(10, -1)
    score = outer @ d
    source, target = literal_terms(score[:5], score[5:], omega[:5], omega[5:], detach=detach_sums)
    expected = -(source + target) / 2

    assert_same(ours, expected, features, layer, d)


def test_extreme_scores_stay_finite() -> None:
    source = torch.tensor([1e4, -1e4, 0.0], requires_grad=True)
    target = torch.tensor([1e4, -1e4, 0.0], requires_grad=True)
    loss = adversarial_loss(signed(source, target), torch.ones(2, 3), terms="sum", detach_sums=True)
    loss.backward()  # type: ignore[no-untyped-call]
    assert loss.item() == pytest.approx(2e4 / 3, rel=1e-3)
    assert source.grad is not None
    assert target.grad is not None
    torch.testing.assert_close(source.grad, torch.tensor([0, -1 / 3, -1 / 6]))
    torch.testing.assert_close(target.grad, torch.tensor([1 / 3, 0, 1 / 6]))


def test_discriminator_accuracy_in_percent() -> None:
    good, bad = torch.tensor([3.0, 1.0]), torch.tensor([-1.0, -2.0])
    assert discriminator_accuracy(signed(good, bad)).item() == 100
    assert discriminator_accuracy(signed(bad, good)).item() == 0
    assert discriminator_accuracy(torch.zeros(2, 4)).item() == 50, "a discriminator without information"
    assert discriminator_accuracy(signed(torch.tensor([1.0, -1]), torch.tensor([-1.0, -2]))).item() == 75


@pytest.mark.parametrize("strength", [0.0, 0.3, 2.0])
@pytest.mark.parametrize("as_tensor", [False, True])
def test_reversal_against_finite_differences(strength: float, as_tensor: bool) -> None:
    factor = torch.tensor(strength, dtype=torch.float64) if as_tensor else strength
    x = drawn(4, 3, seed=1).requires_grad_()

    def energy(y: Tensor) -> Tensor:
        return (y.sin() * y.exp()).sum()

    assert torch.equal(reverse_gradient(x, factor), x)
    (gradient,) = torch.autograd.grad(energy(reverse_gradient(x, factor)), x)
    step = 1e-6
    for index in itertools.product(range(4), range(3)):
        shift = torch.zeros(4, 3, dtype=torch.float64)
        shift[index] = step
        slope = (energy(x.detach() + shift) - energy(x.detach() - shift)) / (2 * step)
        assert gradient[index].item() == pytest.approx(-strength * slope.item(), rel=1e-6, abs=1e-9)


def test_reversals_compose_and_keep_other_gradients() -> None:
    x = drawn(5, seed=1).requires_grad_()
    (twice,) = torch.autograd.grad(reverse_gradient(reverse_gradient(x, 0.5), 3.0).square().sum(), x)
    torch.testing.assert_close(twice, 2 * x.detach() * 1.5)
    (both,) = torch.autograd.grad((reverse_gradient(x, 0.25) + x).sum(), x)
    torch.testing.assert_close(both, torch.full((5,), 0.75, dtype=torch.float64))
