"""Predictions: T of Eq. 7, H of Eq. 8, the weights of Eq. 9, and the information that predictions carry."""

import math

import torch
from torch import Tensor
from torch.nn import functional


def log_scatter(logits: Tensor, l: float) -> Tensor:  # noqa: E741
    """log T(f) of Eq. 7, finite where T itself would round to 0.

    T raises softmax probabilities to 1/l and normalises them, which is softmax(logits / l).
    """
    return functional.log_softmax(logits / l, dim=1)


def entropy(log_p: Tensor, epsilon: float = 0.0) -> Tensor:
    """H of Eq. 8 for each row of log-probabilities, in nats; with epsilon, -Σ p·log(p + epsilon) as CDAN has it."""
    return -minus_entropy(log_p, epsilon)[0]


def minus_entropy(log_p: Tensor, epsilon: float = 0.0) -> tuple[Tensor, Tensor]:
    """-H of Eq. 8, and the probabilities."""
    # A number in the host's memory, which every device takes as an argument.
    log_shifted = torch.logaddexp(log_p, torch.tensor(math.log(epsilon), dtype=log_p.dtype)) if epsilon > 0 else log_p
    p = log_p.exp()
    return (p * log_shifted).sum(dim=1), p


def entropy_weights(minus_h: Tensor) -> Tensor:
    """ω = 1 + exp(-H) of Eq. 9: certain predictions weigh up to twice as much as uncertain ones."""
    return 1 + torch.exp(minus_h)


def information(log_p: Tensor) -> Tensor:
    """Mutual information of sample and predicted class, in nats: entropy of the mean prediction minus mean entropy."""
    log_mean = torch.logsumexp(log_p, dim=0, keepdim=True) - math.log(log_p.shape[0])
    return entropy(log_mean).squeeze(0) - entropy(log_p).mean()
