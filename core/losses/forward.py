"""Forward correction for complementary labels (Yu et al. 2018)."""

import math

import torch
from torch import Tensor
from torch.nn import functional


def forward_loss(logits: Tensor, weights: Tensor) -> Tensor:
    """-log (Qᵀ softmax)_ȳ with Q's off-diagonal 1/(K-1), averaged by the label weights (B, K).

    (Qᵀ p)_k = (1 - p_k)/(K-1). Only the likeliest class can have p_k near 1, where log(1 - p_k) would lose its digits:
    it takes the logsumexp over the other classes, all others take log1p.
    """
    log_p = functional.log_softmax(logits, dim=1)
    top = log_p.argmax(dim=1, keepdim=True)
    others = log_p.scatter(1, top, -torch.inf)
    log_rest = torch.log1p(-others.exp()).scatter(1, top, others.logsumexp(dim=1, keepdim=True))
    return math.log(logits.shape[1] - 1) - (weights * log_rest).sum() / weights.sum()
