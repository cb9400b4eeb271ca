"""Evaluate a classifier: accuracies in percent, losses, and scores that need no target labels."""

from dataclasses import dataclass

import torch
import torch.nn.functional as functional
from torch import Tensor

from core.data.batches import Images
from core.losses.complementary import class_losses, complementary_loss
from core.losses.predictions import entropy, information
from core.networks import Classifier

BATCH_SIZE = 500
MAX_VALUES = 2**21
"""Values of the images of one batch that fit everywhere: 500 digits, or 13 photographs of 224×224."""


@dataclass(frozen=True)
class TestSet:
    """Images and their labels on the device, for evaluation only."""

    images: Images
    y: Tensor
    weights: Tensor | None = None


@dataclass(frozen=True)
class DomainMetrics:
    """The metrics of one domain; None where labels are missing."""

    accuracy: float | None
    loss: float | None
    confusion: list[list[int]] | None
    entropy: float
    information: float
    complementary_risk: float | None


@torch.no_grad()
def predict_logits(
    classifier: Classifier, images: Images, device: torch.device, bf16: bool = False, *, trained: int
) -> Tensor:
    """Return F∘G of every image in order, without dropout; the classifier is left in training mode.

    `trained` images of each domain are a training batch: as many fit in memory here, where no gradients are kept.
    """
    classifier.eval()
    order = torch.arange(len(images), device=device)
    batch_size = min(BATCH_SIZE, max(2 * trained, MAX_VALUES // max(images.values, 1)))
    with torch.autocast(device.type, dtype=torch.bfloat16, enabled=bf16):
        logits = torch.cat([classifier(batch)[1] for batch in images.batches(order, batch_size)])
    classifier.train()
    return logits.float() if bf16 else logits


@torch.no_grad()
def evaluate_domain(logits: Tensor, test_set: TestSet, priors: Tensor) -> DomainMetrics:
    """Return the metrics of a domain; a prediction from logits that are not finite is wrong, and of no class."""
    known = test_set.y >= 0
    log_p = functional.log_softmax(logits, dim=1)
    accuracy, loss, confusion = None, None, None
    if bool(known.any()):
        classes = logits.shape[1]
        loss = functional.nll_loss(log_p[known], test_set.y[known]).item()
        predicted = known & logits.isfinite().all(dim=1)
        cells = test_set.y[predicted] * classes + logits[predicted].argmax(dim=1)
        counts = torch.bincount(cells, minlength=classes * classes).reshape(classes, classes)
        accuracy = 100 * (counts.diagonal().sum().item() / known.sum().item())  # MPS has no float64
        confusion = counts.tolist()
    risk = None
    if test_set.weights is not None:
        risk = complementary_loss(class_losses(logits, test_set.weights, priors)).item()
    return DomainMetrics(accuracy, loss, confusion, entropy(log_p).mean().item(), information(log_p).item(), risk)
