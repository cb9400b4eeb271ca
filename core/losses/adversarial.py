"""The adversarial loss of Eq. 9, on what the discriminator sees; unit weights make it DANN's."""

from typing import Literal

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
    """How many of both batches D places in their own domain, in percent; 50 is what adaptation wants."""
    right = torch.cat((source_scores > 0, target_scores <= 0))
    return 100 * right.to(source_scores.dtype).mean()


def _weighted_mean(values: Tensor, weights: Tensor, detach_sum: bool) -> Tensor:
    total = weights.sum()
    return (weights * values).sum() / (total.detach() if detach_sum else total)
