"""Forward correction against an explicit Q, SCL-EXP and the pairwise loss against loops and against true labels."""

import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

from core.losses.complementary import forward_loss, pairwise_loss, scl_exp_loss

cases = given(classes=st.integers(2, 8), seed=st.integers(0, 2**31 - 1), several=st.booleans())


def batch(classes: int, seed: int, several: bool, size: int = 9) -> tuple[Tensor, Tensor]:
    """Return logits, and the weights of one complementary label a sample, or of 1 to K-1 if `several`."""
    generator = torch.Generator().manual_seed(seed)
    logits = 2 * torch.randn(size, classes, generator=generator, dtype=torch.float64)
    order = torch.rand(size, classes, generator=generator).argsort(dim=1)
    labels = torch.randint(1, classes, (size, 1), generator=generator) if several else torch.ones(size, 1)
    mask = (order < labels).double()
    return logits.requires_grad_(), mask / mask.sum(dim=1, keepdim=True)


def assert_same(ours: Tensor, expected: Tensor, logits: Tensor) -> None:
    torch.testing.assert_close(ours, expected, rtol=1e-11, atol=1e-12)
    (our_gradient,) = torch.autograd.grad(ours, logits)
    (gradient,) = torch.autograd.grad(expected, logits)
    torch.testing.assert_close(our_gradient, gradient, rtol=1e-9, atol=1e-11)


@cases
@settings(max_examples=40)
def test_forward_is_the_likelihood_under_the_transition_matrix(classes: int, seed: int, several: bool) -> None:
    """Column j of Q is the probability of the set of labels j for each class: 1 of C(K-1, s) sets of s wrong labels."""
    logits, weights = batch(classes, seed, several)
    losses = []
    for row, row_weights in zip(logits, weights, strict=True):
        labels = set(row_weights.nonzero().flatten().tolist())
        sets = list(itertools.combinations(range(classes), len(labels)))
        q = torch.tensor([[float(k not in chosen) for chosen in sets] for k in range(classes)], dtype=torch.float64)
        q = q / q.sum(dim=1, keepdim=True)
        probabilities = row.softmax(dim=0) @ q
        torch.testing.assert_close(probabilities.sum(), torch.ones((), dtype=torch.float64))
        constant = math.log(math.comb(classes - 1, len(labels)))
        losses.append(-probabilities[[set(chosen) for chosen in sets].index(labels)].log() - constant)
    assert_same(forward_loss(logits, weights), torch.stack(losses).mean(), logits)


def test_forward_with_all_wrong_labels_is_cross_entropy() -> None:
    logits, true = torch.randn(6, 5, dtype=torch.float64, requires_grad=True), torch.tensor([0, 1, 2, 3, 4, 0])
    weights = (1 - functional.one_hot(true, 5).double()) / 4
    assert_same(forward_loss(logits, weights), functional.cross_entropy(logits, true), logits)


def test_forward_is_precise_where_the_wrong_class_is_nearly_certain() -> None:
    logits = torch.tensor([[60.0, 0, 0], [1e4, -1e4, -1e4], [0, -1e4, 1e4], [5, 5, -1e4]], requires_grad=True)
    weights = functional.one_hot(torch.tensor([0, 0, 2, 0]), 3).float()
    loss = forward_loss(logits, weights)
    loss.backward()  # type: ignore[no-untyped-call]
    # -log(1 - p) is 60 - log 2, 2·10^4 - log 2, 10^4 and log 2.
    assert loss.item() == pytest.approx((60 + 2e4 + 1e4 - 0.693147) / 4, rel=1e-6)
    assert logits.grad is not None
    assert logits.grad.isfinite().all()
    torch.testing.assert_close(logits.grad[1], torch.tensor([0.25, -0.125, -0.125]), rtol=1e-3, atol=0)


def test_forward_is_smallest_when_the_label_is_ruled_out() -> None:
    weights = torch.tensor([[0.0, 1.0, 0.0]])
    ruled_out = forward_loss(torch.tensor([[0.0, -1e4, 0.0]]), weights)
    assert ruled_out.item() == pytest.approx(0)
    assert forward_loss(torch.tensor([[0.0, 1.0, 0.0]]), weights) > ruled_out


@cases
@settings(max_examples=40)
def test_pairwise_equals_the_loops(classes: int, seed: int, several: bool) -> None:
    logits, weights = batch(classes, seed, several)
    total = torch.zeros((), dtype=torch.float64)
    for g, row in zip(logits, weights, strict=True):
        for label in range(classes):
            for k in range(classes):
                if k != label:
                    total = total + row[label] / (1 + torch.exp(g[k] - g[label]))
    expected = (classes - 1) / len(logits) * total - classes * (classes - 1) / 2 + classes - 1
    assert_same(pairwise_loss(logits, weights), expected, logits)


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_pairwise_is_unbiased_for_the_ordinary_pairwise_loss(classes: int) -> None:
    logits, _ = batch(classes, seed=classes, several=False, size=20)
    labels = torch.arange(20) ** 2 % classes
    wrong = 1 - functional.one_hot(labels, classes).double()
    ordinary = torch.stack(
        [sum(torch.sigmoid(g[k] - g[y]) for k in range(classes) if k != y) for g, y in zip(logits, labels, strict=True)]  # type: ignore[misc]
    ).mean()
    torch.testing.assert_close(pairwise_loss(logits, wrong / (classes - 1)), ordinary, rtol=1e-11, atol=1e-11)


def test_pairwise_stays_finite() -> None:
    logits = torch.tensor([[1e4, -1e4, 0.0]], requires_grad=True)
    loss = pairwise_loss(logits, torch.tensor([[1.0, 0, 0]]))
    loss.backward()  # type: ignore[no-untyped-call]
    assert loss.item() == pytest.approx(2 * 2 - 3 + 2)
    assert logits.grad is not None
    assert logits.grad.isfinite().all()


@cases
@settings(max_examples=20)
def test_scl_exp_against_loops(classes: int, seed: int, several: bool) -> None:
    logits, weights = batch(classes, seed, several)
    p = logits.exp() / logits.exp().sum(dim=1, keepdim=True)
    terms = [weights[i, k] * p[i, k].exp() for i in range(len(p)) for k in range(classes)]
    assert_same(scl_exp_loss(logits, weights), torch.stack(terms).sum() / len(p), logits)
