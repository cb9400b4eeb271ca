"""The pairwise-comparison loss for complementary labels (Ishida et al. 2017)."""

import torch
from torch import Tensor


def pairwise_loss(logits: Tensor, weights: Tensor) -> Tensor:
    """(K-1)·mean L̄_PC - K(K-1)/2 + K-1, with L̄_PC(g, ȳ) = Σ_{k≠ȳ} ℓ(g_k - g_ȳ) and the sigmoid loss ℓ(z) = σ(-z).

    Taken as published: with its constants it estimates the ordinary pairwise loss Σ_{k≠y} ℓ(g_y - g_k) without bias.
    The authors' program adds the pair k = ȳ, a constant (K-1)/2 that changes no gradient; it is left out here.
    The mean is over the label weights (B, K).
    """
    classes = logits.shape[1]
    own_pair = 0.5  # σ(0)
    losses = torch.sigmoid(logits.unsqueeze(2) - logits.unsqueeze(1)).sum(dim=2) - own_pair
    mean = (weights * losses).sum() / weights.sum()
    return (classes - 1) * mean - classes * (classes - 1) / 2 + classes - 1
