"""Learning from complementary labels: which loss is minimised, and what is measured of it."""

import torch.nn.functional as functional
from torch import Tensor

from core.config import RunConfig
from core.losses.complementary import ascent_loss, class_losses, complementary_loss, non_negative_loss
from core.losses.forward import forward_loss
from core.losses.pairwise import pairwise_loss


def complementary_objective(
    config: RunConfig, logits: Tensor, weights: Tensor, priors: Tensor
) -> tuple[Tensor, dict[str, Tensor]]:
    """The loss to minimise, and the paper's loss as measured: Σ_k L_k, never what stands in for it."""
    losses = class_losses(logits, weights, priors, by_loss_index=config.class_priors == "loss-index")
    whole = complementary_loss(losses)
    measured = {"complementary_loss": whole, "least_class_loss": losses.per_class.min()}
    match config.complementary_loss:
        case "ascent":
            loss, measured["ascended"] = ascent_loss(losses, by_counts=config.ascent_by_counts)
        case "free":
            loss = whole
        case "non-negative":
            loss = non_negative_loss(losses)
        case "forward":
            loss = forward_loss(logits, weights)
        case "pairwise":
            loss = pairwise_loss(logits, weights)
        case "cross-entropy":
            loss = functional.cross_entropy(logits, weights)
            measured["classification_loss"] = loss
    return loss, measured
