"""The batches in which images are evaluated."""

import numpy as np
import pytest
import torch
from torch import Tensor

from core.data.batches import ResidentImages, StreamedImages
from core.networks import Classifier
from core.training.evaluate import predict_logits


@pytest.mark.parametrize(
    ("side", "count", "trained", "largest"), [(28, 600, 32, 500), (224, 60, 2, 13), (224, 100, 32, 64)]
)
def test_large_images_are_evaluated_in_batches_that_training_fits(
    side: int, count: int, trained: int, largest: int
) -> None:
    """500 photographs at once need 5 GB; both domains of a training batch fit."""

    class Recorder(Classifier):
        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            sizes.append(len(x))
            return x, torch.zeros(len(x), 2)

    sizes: list[int] = []
    images = np.zeros((count, side, side, 3), np.uint8)
    device = torch.device("cpu")
    for placed in (ResidentImages(images, device, True), StreamedImages(images, device, True, workers=0)):
        logits = predict_logits(Recorder(torch.nn.Identity(), 1, 2), placed, device, trained=trained)
        assert logits.shape == (count, 2)
        assert (max(sizes), sum(sizes)) == (largest, count)
        sizes.clear()
