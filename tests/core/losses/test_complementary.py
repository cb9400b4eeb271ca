"""Eq. 3, 5 and 6, and lines 8-13 of Algorithm 1, against literal formulations."""

import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

from core.losses.complementary import (
    ClassLosses,
    ascent_loss,
    class_losses,
    complementary_loss,
    forward_loss,
    non_negative_loss,
    pairwise_loss,
    scl_exp_loss,
)
from tests.core.losses.comparison import assert_same

seeds = st.integers(0, 2**31 - 1)


def one_hot(labels: Tensor, classes: int) -> Tensor:
    return functional.one_hot(labels, classes).double()


def unbalanced(classes: int, seed: int) -> tuple[Tensor, Tensor]:
    """Return logits and true labels, class 0 most frequent and the last one rare."""
    generator = torch.Generator().manual_seed(seed)
    counts = [1 + 2 * (classes - k) for k in range(classes)]
    labels = torch.cat([torch.full((count,), k) for k, count in enumerate(counts)])
    return 3 * torch.randn(len(labels), classes, generator=generator, dtype=torch.float64), labels


def replicated(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Return every sample once with each of its K-1 wrong labels."""
    pairs = [(i, k) for i in range(len(labels)) for k in range(logits.shape[1]) if k != labels[i]]
    rows, wrong = zip(*pairs, strict=True)
    return logits[list(rows)], torch.tensor(wrong)


def literal(logits: Tensor, labels: Tensor, priors: Tensor, by_loss_index: bool) -> list[Tensor]:
    """Eq. 5 as printed, term by term."""
    classes = logits.shape[1]
    subsets = [[i for i in range(len(labels)) if labels[i] == k] for k in range(classes)]

    def loss(i: int, k: int) -> Tensor:
        return -torch.log(logits[i].exp()[k] / logits[i].exp().sum())

    values = []
    for k in range(classes):
        value = torch.zeros((), dtype=logits.dtype)
        for i in subsets[k]:
            value = value - (classes - 1) * priors[k] / len(subsets[k]) * loss(i, k)
        for j in range(classes):
            for i in subsets[j]:
                value = value + priors[k if by_loss_index else j] / len(subsets[j]) * loss(i, k)
        values.append(value)
    return values


@pytest.mark.parametrize("classes", range(2, 21))
def test_eq_3_complementary_loss_equals_cross_entropy_on_true_labels(classes: int) -> None:
    logits, labels = unbalanced(classes, seed=classes)
    expected = functional.cross_entropy(logits, labels)

    every_logits, every_wrong = replicated(logits, labels)
    weights = one_hot(every_wrong, classes)
    by_replication = complementary_loss(class_losses(every_logits, weights, weights.mean(dim=0)))
    assert abs(by_replication - expected) < 1e-10

    shares = (1 - one_hot(labels, classes)) / (classes - 1)
    assert torch.allclose(shares.sum(dim=1), torch.ones(len(labels), dtype=torch.float64))
    by_shares = complementary_loss(class_losses(logits, shares, shares.mean(dim=0)))
    assert abs(by_shares - expected) < 1e-10


@pytest.mark.parametrize("classes", range(3, 21))
def test_eq_3_needs_the_priors_of_the_set(classes: int) -> None:
    logits, labels = unbalanced(classes, seed=classes)
    shares = (1 - one_hot(labels, classes)) / (classes - 1)
    uniform = torch.full((classes,), 1 / classes, dtype=torch.float64)
    assert not torch.allclose(shares.mean(dim=0), uniform)
    expected = functional.cross_entropy(logits, labels)
    assert abs(complementary_loss(class_losses(logits, shares, uniform)) - expected) > 1e-4
    by_index = complementary_loss(class_losses(logits, shares, shares.mean(dim=0), by_loss_index=True))
    assert abs(by_index - expected) > 1e-4


@pytest.mark.parametrize("by_loss_index", [False, True])
@given(classes=st.integers(2, 7), size=st.integers(1, 12), seed=seeds)
@settings(max_examples=40)
def test_eq_5_equals_the_double_loop(by_loss_index: bool, classes: int, size: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(size, classes, generator=generator, dtype=torch.float64, requires_grad=True)
    labels = torch.randint(classes, (size,), generator=generator)
    priors = torch.rand(classes, generator=generator, dtype=torch.float64).softmax(dim=0)

    ours = class_losses(logits, one_hot(labels, classes), priors, by_loss_index)
    expected = torch.stack(literal(logits, labels, priors, by_loss_index))
    assert_same(ours.per_class, expected, logits, atol=1e-12)
    assert ours.counts.tolist() == torch.bincount(labels, minlength=classes).tolist()
    torch.testing.assert_close(complementary_loss(ours), expected.sum(), rtol=1e-12, atol=1e-12)


def test_empty_class_is_skipped_and_its_gradient_is_finite() -> None:
    logits = torch.randn(6, 4, dtype=torch.float64, requires_grad=True)
    labels = torch.tensor([0, 0, 1, 1, 1, 0])
    priors = torch.tensor([0.4, 0.3, 0.2, 0.1], dtype=torch.float64)
    losses = class_losses(logits, one_hot(labels, 4), priors)
    assert losses.counts.tolist() == [3, 3, 0, 0]
    expected = torch.stack(literal(logits, labels, priors, False))
    torch.testing.assert_close(losses.per_class, expected)
    assert (losses.per_class[2:] > 0).all(), "no negative part without samples"
    (gradient,) = torch.autograd.grad(complementary_loss(losses), logits)
    assert gradient.isfinite().all()


@pytest.mark.parametrize("by_counts", [False, True])
@given(classes=st.integers(2, 8), seed=seeds, scale=st.sampled_from([0.1, 1.0, 5.0]))
@settings(max_examples=60)
def test_ascent_equals_the_branch_of_algorithm_1(by_counts: bool, classes: int, seed: int, scale: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    logits = scale * torch.randn(16, classes, generator=generator, dtype=torch.float64)
    logits.requires_grad_()
    labels = torch.randint(classes, (16,), generator=generator)
    weights = one_hot(labels, classes)
    losses = class_losses(logits, weights, weights.mean(dim=0))

    loss, ascended = ascent_loss(losses, by_counts)
    values = losses.per_class * losses.counts if by_counts else losses.per_class
    if min(values.tolist()) >= 0:
        expected, expected_ascended = losses.per_class.sum(), 0.0
    else:
        expected = -torch.stack([value for value in values if value < 0]).sum()
        expected_ascended = 1.0
    assert ascended.item() == expected_ascended
    assert_same(loss, expected, logits)


@given(values=st.lists(st.floats(-5, 5), min_size=2, max_size=10))
def test_non_negative_correction(values: list[float]) -> None:
    per_class = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    loss = non_negative_loss(ClassLosses(per_class, torch.ones(len(values))))
    assert loss.item() == pytest.approx(sum(max(0.0, value) for value in values))
    (gradient,) = torch.autograd.grad(loss, per_class)
    assert all(slope == (value > 0) for slope, value in zip(gradient.tolist(), values, strict=True) if value)


@pytest.mark.parametrize("by_counts", [False, True])
@pytest.mark.parametrize(("labels", "expected"), [((0, 1, 2), 0.0), ((1, 0, 2), 1.0)])
def test_extreme_logits_stay_finite(by_counts: bool, labels: tuple[int, ...], expected: float) -> None:
    logits = torch.tensor([[1e4, -1e4, 0], [-1e4, 1e4, 0], [0, 0, 1e4]], requires_grad=True)
    losses = class_losses(logits, torch.eye(3)[list(labels)], torch.full((3,), 1 / 3))
    loss, ascended = ascent_loss(losses, by_counts)
    (gradient,) = torch.autograd.grad(loss, logits)
    assert math.isfinite(loss.item())
    assert ascended.item() == expected
    assert gradient.isfinite().all()


cases = given(classes=st.integers(2, 8), seed=st.integers(0, 2**31 - 1), several=st.booleans())


def batch(classes: int, seed: int, several: bool, size: int = 9) -> tuple[Tensor, Tensor]:
    """Return logits, and the weights of one complementary label a sample, or of 1 to K-1 if `several`."""
    generator = torch.Generator().manual_seed(seed)
    logits = 2 * torch.randn(size, classes, generator=generator, dtype=torch.float64)
    order = torch.rand(size, classes, generator=generator).argsort(dim=1)
    labels = torch.randint(1, classes, (size, 1), generator=generator) if several else torch.ones(size, 1)
    mask = (order < labels).double()
    return logits.requires_grad_(), mask / mask.sum(dim=1, keepdim=True)


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
    assert_same(forward_loss(logits, weights), torch.stack(losses).mean(), logits, rtol=1e-11, atol=1e-12)


def test_forward_with_all_wrong_labels_is_cross_entropy() -> None:
    logits, true = torch.randn(6, 5, dtype=torch.float64, requires_grad=True), torch.tensor([0, 1, 2, 3, 4, 0])
    weights = (1 - functional.one_hot(true, 5).double()) / 4
    assert_same(forward_loss(logits, weights), functional.cross_entropy(logits, true), logits, rtol=1e-11, atol=1e-12)


def test_forward_is_precise_where_the_wrong_class_is_nearly_certain() -> None:
    logits = torch.tensor([[60.0, 0, 0], [1e4, -1e4, -1e4], [0, -1e4, 1e4], [5, 5, -1e4]], requires_grad=True)
    weights = functional.one_hot(torch.tensor([0, 0, 2, 0]), 3).float()
    loss = forward_loss(logits, weights)
    (gradient,) = torch.autograd.grad(loss, logits)
    # -log(1 - p) is 60 - log 2, 2·10^4 - log 2, 10^4 and log 2.
    assert loss.item() == pytest.approx((60 + 2e4 + 1e4 - 0.693147) / 4, rel=1e-6)
    assert gradient.isfinite().all()
    torch.testing.assert_close(gradient[1], torch.tensor([0.25, -0.125, -0.125]), rtol=1e-3, atol=0)


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
    assert_same(pairwise_loss(logits, weights), expected, logits, rtol=1e-11, atol=1e-12)


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
    (gradient,) = torch.autograd.grad(loss, logits)
    assert loss.item() == pytest.approx(2 * 2 - 3 + 2)
    assert gradient.isfinite().all()


@cases
@settings(max_examples=20)
def test_scl_exp_against_loops(classes: int, seed: int, several: bool) -> None:
    logits, weights = batch(classes, seed, several)
    p = logits.exp() / logits.exp().sum(dim=1, keepdim=True)
    terms = [weights[i, k] * p[i, k].exp() for i in range(len(p)) for k in range(classes)]
    assert_same(scl_exp_loss(logits, weights), torch.stack(terms).sum() / len(p), logits, rtol=1e-11, atol=1e-12)
