"""Losses for complementary labels: Eq. 5 and 6, their corrections, forward correction, SCL and pairwise comparison."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional


@dataclass(frozen=True)
class ClassLosses:
    """Eq. 5 for every class of one batch."""

    per_class: Tensor
    """L_k, shape (K,): may be negative, which ascent corrects."""
    counts: Tensor
    """n_k, shape (K,): samples complementary-labelled k, in shares where a sample has several labels."""


def class_losses(logits: Tensor, weights: Tensor, priors: Tensor, by_loss_index: bool = False) -> ClassLosses:
    """L_k of Eq. 5 for all k at once.

    Row i of `weights` (B, K) shares sample i's one vote among its complementary labels, `priors` (K,) is π̄.
    With mean_jk the average of ℓ(·, k) over the samples labelled j (0 where there are none: the class is skipped),
    L_k = -(K-1)·π̄_k·mean_kk + Σ_j π̄_j·mean_jk; `by_loss_index` puts π̄_k in the sum, as the released program does.
    """
    log_p = functional.log_softmax(logits, dim=1)
    counts = weights.sum(dim=0)
    # An empty class divides its sum of 0 by 1: a tiny divisor instead would make its gradient 0·∞.
    means = (weights.T @ log_p) / -(counts + (counts == 0)).unsqueeze(1)
    own_label = (1 - logits.shape[1]) * priors * means.diagonal()
    all_labels = priors * means.sum(dim=0) if by_loss_index else priors @ means
    return ClassLosses(own_label + all_labels, counts)


def complementary_loss(losses: ClassLosses) -> Tensor:
    """Eq. 6: Σ_k L_k, an unbiased estimate of the cross-entropy on true labels."""
    return losses.per_class.sum()


def ascent_loss(losses: ClassLosses, by_counts: bool) -> tuple[Tensor, Tensor]:
    """Lines 8-13 of Algorithm 1 as one loss to minimise, and whether it ascends (0 or 1).

    Where a class loss is negative: -Σ_k min(0, V_k), otherwise Eq. 6. V_k is L_k, or with `by_counts` L_k·n_k:
    the released program tests and ascends the scaled losses, but descends the plain ones. Both are Σ_k c_k·L_k with
    a constant c, which is 1 in Eq. 6: few operations, as a GPU waits for the launch of each.
    """
    scale = -losses.counts if by_counts else -1.0
    values = losses.per_class.detach() * scale
    ascends = values.max() > 0
    factors = torch.where(ascends, (values >= 0) * scale, 1.0)
    return (factors * losses.per_class).sum(), ascends.to(values.dtype)


def non_negative_loss(losses: ClassLosses) -> Tensor:
    """Σ_k max(0, L_k): the non-negative correction of Eq. 6 (Ishida et al. 2019)."""
    return losses.per_class.clamp(min=0).sum()


def forward_loss(logits: Tensor, weights: Tensor) -> Tensor:
    """Mean of -log(1 - p_ȳ): SCL-NL (Chou et al. 2020), and forward correction (Yu et al. 2018) less its log(K-1).

    `weights` (B, K) is positive at complementary labels. With several, the likelihood of the set: -log Σ p_k over the
    classes that are left (Feng et al. 2020), which is cross-entropy where one is left.
    """
    log_p = functional.log_softmax(logits, dim=1)
    return -log_p.masked_fill(weights > 0, -torch.inf).logsumexp(dim=1).mean()


def scl_exp_loss(logits: Tensor, weights: Tensor) -> Tensor:
    """SCL-EXP (Chou et al. 2020): exp(p_ȳ), averaged by the label weights (B, K).

    Bounded by e. SCL-NL of the same paper, -log(1 - p_ȳ), is `forward_loss`.
    """
    return (weights * functional.softmax(logits, dim=1).exp()).sum() / weights.sum()


def pairwise_loss(logits: Tensor, weights: Tensor) -> Tensor:
    """Pairwise comparison (Ishida et al. 2017): (K-1)·mean L̄_PC - K(K-1)/2 + K-1.

    L̄_PC(g, ȳ) = Σ_{k≠ȳ} ℓ(g_k - g_ȳ) with the sigmoid loss ℓ(z) = σ(-z).
    Taken as published: with its constants it estimates the ordinary pairwise loss Σ_{k≠y} ℓ(g_y - g_k) without bias.
    The authors' program adds the pair k = ȳ, a constant (K-1)/2 that changes no gradient; it is left out here.
    The mean is over the label weights (B, K).
    """
    classes = logits.shape[1]
    own_pair = 0.5  # σ(0)
    losses = torch.sigmoid(logits.unsqueeze(2) - logits.unsqueeze(1)).sum(dim=2) - own_pair
    mean = (weights * losses).sum() / weights.sum()
    return (classes - 1) * mean - classes * (classes - 1) / 2 + classes - 1
