"""H of Eq. 8 and the weights that Eq. 9 makes of it."""

import math

import torch
from torch import Tensor


def entropy(log_p: Tensor, epsilon: float = 0.0) -> Tensor:
    """H of Eq. 8 for each row of log-probabilities, in nats; with epsilon, -Σ p·log(p + epsilon) as CDAN has it."""
    log_shifted = torch.logaddexp(log_p, log_p.new_full((), math.log(epsilon))) if epsilon > 0 else log_p
    return -(log_p.exp() * log_shifted).sum(dim=1)


def entropy_weights(h: Tensor) -> Tensor:
    """ω = 1 + exp(-H) of Eq. 9: certain predictions weigh up to twice as much as uncertain ones."""
    return 1 + torch.exp(-h)
