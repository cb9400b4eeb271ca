"""An averaged teacher (Tarvainen and Valpola 2017): a running mean of a classifier's weights, which it learns from."""

import torch
from torch import Tensor, nn

from core.losses.pseudo_labels import balance
from core.networks import Classifier

BALANCE_DECAY = 0.99
"""Decay of the running mean of the teacher's predictions."""


class Teacher(nn.Module):
    """The mean of a classifier's weights, and of the teacher's own predictions for the target."""

    mean_prediction: Tensor

    def __init__(self, classifier: Classifier, classes: int) -> None:
        """`classifier` has the student's first weights and becomes the teacher's own."""
        super().__init__()
        self.classifier = classifier.requires_grad_(False)
        self.register_buffer("mean_prediction", torch.full((classes,), 1 / classes))

    @torch.no_grad()
    def update(self, student: Classifier, decay: float) -> None:
        """Move every weight towards the student's by 1 - decay; statistics of batch-norm are copied."""
        torch._foreach_lerp_(list(self.classifier.parameters()), list(student.parameters()), 1 - decay)
        for mine, theirs in zip(self.classifier.buffers(), student.buffers(), strict=True):
            mine.copy_(theirs)

    @torch.no_grad()
    def predict(self, images: Tensor) -> Tensor:
        """Return probabilities without dropout, and with batch-norm's running statistics."""
        self.classifier.eval()
        probabilities: Tensor = self.classifier(images)[1].float().softmax(dim=1)
        return probabilities

    @torch.no_grad()
    def balanced(self, predictions: Tensor) -> Tensor:
        """Return the predictions with equally frequent classes, and update their running mean."""
        self.mean_prediction.lerp_(predictions.mean(dim=0), 1 - BALANCE_DECAY)
        return balance(predictions, self.mean_prediction)
