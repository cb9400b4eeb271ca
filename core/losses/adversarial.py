"""The adversarial loss of Eq. 9, which is DANN's with unit weights, and gradient reversal."""

from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid


def domain_input(features: Tensor, predictions: Tensor) -> Tensor:
    """g(x) = G(x) ⊗ T(F(G(x))) of Eq. 9, flattened to (B, K·width) as in CDAN."""
    return torch.bmm(predictions.unsqueeze(2), features.unsqueeze(1)).flatten(1)


def adversarial_loss(scores: Tensor, weights: Tensor, *, terms: Literal["mean", "sum"], detach_sums: bool) -> Tensor:
    """L_adv: minus Eq. 9 (which lacks CDAN's minus), source 1, target 0, on D's raw scores.

    Scores and weights are (2, B), of source and target; scores have their sign changed for the target, so that D is
    right where they are positive. Each domain's term is normalised by the sum of its weights, without gradient through
    that sum if `detach_sums`; `terms` takes the sum of the two as in Eq. 9, or their mean.
    """
    totals = weights.sum(dim=1)
    divisors = (totals.detach() if detach_sums else totals) * (-2 if terms == "mean" else -1)
    return ((weights * logsigmoid(scores)).sum(dim=1) / divisors).sum()


def discriminator_accuracy(scores: Tensor) -> Tensor:
    """Return the percentage of both batches that D assigns to the right domain; adaptation aims at 50.

    Scores are those of `adversarial_loss`; 0 is the target.
    """
    source, target = scores
    return 100 * torch.stack((source > 0, target >= 0)).mean(dtype=scores.dtype)


class _Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor | float) -> Tensor:
        ctx.weight = weight
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient * -ctx.weight, None


def reverse_gradient(x: Tensor, weight: Tensor | float) -> Tensor:
    """Return x; its gradient is multiplied by -weight (Ganin et al. 2016), which turns Eq. 10's minimax into a minimum.

    `weight` is λ of Eq. 10, a number or a 0-dimensional tensor.
    """
    reversed_: Tensor = _Reversal.apply(x, weight)  # type: ignore[no-untyped-call]
    return reversed_
