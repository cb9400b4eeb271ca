"""The complementary-label loss of Eq. 5 and 6, and its two corrections: gradient ascent and non-negative."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional


@dataclass(frozen=True)
class ClassLosses:
    """Eq. 5 for every class of one batch."""

    per_class: Tensor
    """L_k, shape (K,): may be negative, which is what ascent corrects."""
    counts: Tensor
    """n_k, shape (K,): samples complementary-labelled k, in shares where a sample has several labels."""


def class_losses(logits: Tensor, weights: Tensor, priors: Tensor, by_loss_index: bool = False) -> ClassLosses:
    """L_k of Eq. 5 for all k at once.

    Row i of `weights` (B, K) shares sample i's one vote among its complementary labels, `priors` (K,) is π̄.
    With mean_jk the average of ℓ(·, k) over the samples labelled j (0 where there are none: the class is skipped),
    L_k = -(K-1)·π̄_k·mean_kk + Σ_j π̄_j·mean_jk; `by_loss_index` puts π̄_k in the sum, as the released program does.
    """
    losses = -functional.log_softmax(logits, dim=1)
    counts = weights.sum(dim=0)
    # An empty class divides its sum of 0 by 1: a tiny divisor instead would make its gradient 0·∞.
    means = (weights.T @ losses) / torch.where(counts > 0, counts, 1).unsqueeze(1)
    own = (1 - logits.shape[1]) * priors * means.diagonal()
    every = priors * means.sum(dim=0) if by_loss_index else priors @ means
    return ClassLosses(own + every, counts)


def complementary_loss(losses: ClassLosses) -> Tensor:
    """Eq. 6: Σ_k L_k, an unbiased estimate of the cross-entropy on true labels."""
    return losses.per_class.sum()


def ascent_loss(losses: ClassLosses, by_counts: bool) -> tuple[Tensor, Tensor]:
    """Lines 8-13 of Algorithm 1 as one loss to minimise, and whether it ascends (0 or 1).

    Where a class loss is negative: -Σ_k min(0, V_k), otherwise Eq. 6. V_k is L_k, or with `by_counts` L_k·n_k:
    the released program tests and ascends the scaled losses, but descends the plain ones.
    """
    values = losses.per_class * losses.counts if by_counts else losses.per_class
    negative = values.min() < 0
    loss = torch.where(negative, -values.clamp(max=0).sum(), losses.per_class.sum())
    return loss, negative.to(values.dtype)


def non_negative_loss(losses: ClassLosses) -> Tensor:
    """Σ_k max(0, L_k): the non-negative correction of Eq. 6 (Ishida et al. 2019)."""
    return losses.per_class.clamp(min=0).sum()
