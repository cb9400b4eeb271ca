"""How much predictions say: a diagnostic that needs no labels."""

import math

import torch
from torch import Tensor

from core.losses.entropy import entropy


def information(log_p: Tensor) -> Tensor:
    """Mutual information of sample and predicted class, in nats: entropy of the mean prediction minus mean entropy."""
    log_mean = torch.logsumexp(log_p, dim=0, keepdim=True) - math.log(log_p.shape[0])
    return entropy(log_mean).squeeze(0) - entropy(log_p).mean()
