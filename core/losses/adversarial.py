"""The adversarial loss of Eq. 9, which is DANN's with unit weights, and gradient reversal."""

from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid


def domain_input(features: Tensor, log_predictions: Tensor, detach: bool) -> Tensor:
    """g(x) = G(x) ⊗ T(F(G(x))) of Eq. 9, flattened to (B, K·width) as in CDAN; `detach` stops the gradient into T."""
    predictions = log_predictions.exp()
    if detach:
        predictions = predictions.detach()
    return torch.bmm(predictions.unsqueeze(2), features.unsqueeze(1)).flatten(1)


def adversarial_loss(
    source_scores: Tensor,
    target_scores: Tensor,
    source_weights: Tensor,
    target_weights: Tensor,
    *,
    terms: Literal["mean", "sum"],
    detach_sums: bool,
) -> Tensor:
    """L_adv: minus Eq. 9 (which lacks CDAN's minus), source 1, target 0, on D's raw scores.

    Each domain's term is normalised by the sum of its weights, without gradient through that sum if `detach_sums`;
    `terms` takes the sum of the two as in Eq. 9, or their mean.
    """
    source = -_weighted_mean(logsigmoid(source_scores), source_weights, detach_sums)
    target = -_weighted_mean(logsigmoid(-target_scores), target_weights, detach_sums)
    return (source + target) / 2 if terms == "mean" else source + target


def discriminator_accuracy(source_scores: Tensor, target_scores: Tensor) -> Tensor:
    """Return the percentage of both batches that D assigns to the right domain; adaptation aims at 50."""
    right = torch.cat((source_scores > 0, target_scores <= 0))
    return 100 * right.to(source_scores.dtype).mean()


def _weighted_mean(values: Tensor, weights: Tensor, detach_sum: bool) -> Tensor:
    total = weights.sum()
    return (weights * values).sum() / (total.detach() if detach_sum else total)


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
