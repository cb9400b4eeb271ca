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


def confident_cross_entropy(logits: Tensor, predictions: Tensor, threshold: float) -> tuple[Tensor, Tensor]:
    """Cross-entropy with the likeliest class of confident predictions (FixMatch, Sohn et al. 2020), and their share.

    `predictions` are probabilities (B, K). Rows whose largest is not above `threshold` add 0 to the mean over all B.
    """
    confidence, labels = predictions.max(dim=1)
    is_confident = (confidence > threshold).to(logits.dtype)
    losses = functional.cross_entropy(logits, labels, reduction="none")
    return (losses * is_confident).mean(), is_confident.mean()


def balance(predictions: Tensor, mean_prediction: Tensor) -> Tensor:
    """Distribution alignment (ReMixMatch, Berthelot et al. 2020) to equally frequent classes.

    Each row of probabilities is divided by the running mean of all predictions, and normalised again.
    """
    scaled = predictions / mean_prediction
    return scaled / scaled.sum(dim=1, keepdim=True)


def likeliest_allowed(predictions: Tensor, weights: Tensor) -> Tensor:
    """Return the likeliest class of each row of probabilities that no complementary label rules out.

    `weights` (B, K) is positive at complementary labels.
    """
    return predictions.masked_fill(weights > 0, -1).argmax(dim=1)
