"""Losses of the target's predictions alone: information maximisation and minimum class confusion."""

import torch
from torch import Tensor
from torch.nn import functional

from core.losses.predictions import entropy, information


def information_loss(logits: Tensor) -> Tensor:
    """Minus the information of the predictions: certain for each image, balanced over the batch (SHOT, Liang 2020)."""
    return -information(functional.log_softmax(logits, dim=1))


def class_confusion(logits: Tensor, temperature: float = 2.5) -> Tensor:
    """Minimum class confusion (MCC, Jin et al. 2020): the mean weight off the diagonal of the class correlations.

    With p = softmax(logits / temperature) and weights w_i = B·(1+exp(-H_i)) / Σ_j (1+exp(-H_j)) without gradient,
    C = pᵀ diag(w) p; each row of C is normalised to 1, and the loss is Σ_{j≠k} C_jk / K.
    """
    log_p = functional.log_softmax(logits / temperature, dim=1)
    p = log_p.exp()
    weights = 1 + torch.exp(-entropy(log_p.detach()))
    weights = weights * (len(weights) / weights.sum())
    correlations = p.T @ (p * weights.unsqueeze(1))
    correlations = correlations / correlations.sum(dim=1, keepdim=True)
    return (correlations.sum() - correlations.trace()) / logits.shape[1]
