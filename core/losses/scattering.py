"""T of Eq. 7, which makes predictions more scattered, in log space."""

from torch import Tensor
from torch.nn import functional


def scatter(logits: Tensor, l: float) -> Tensor:  # noqa: E741
    """T(f) of Eq. 7: softmax probabilities raised to 1/l and normalised, computed as softmax(logits / l)."""
    return functional.softmax(logits / l, dim=1)


def log_scatter(logits: Tensor, l: float) -> Tensor:  # noqa: E741
    """log T(f) of Eq. 7, finite where T itself would round to 0."""
    return functional.log_softmax(logits / l, dim=1)
