"""Random affine transformations of images: bounds, centre and random stream."""

import pytest
import torch
from torch import Tensor

from core.methods.augment import ROTATION, jitter


def generator(seed: int = 1) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def blobs(count: int) -> Tensor:
    """Return images with a bright spot right of the centre."""
    images = torch.full((count, 1, 29, 29), -1.0)
    images[:, :, 13:16, 20:23] = 1.0
    return images


def centres(images: Tensor) -> Tensor:
    """Return x and y of the centre of brightness, with 0 in the middle and 1 at the border."""
    weights = (images + 1).squeeze(1)
    axis = torch.linspace(-1, 1, images.shape[-1]) * 28 / 29
    total = weights.sum(dim=(1, 2))
    return torch.stack(((weights.sum(1) @ axis) / total, (weights.sum(2) @ axis) / total), dim=1)


def test_strength_0_returns_the_images_and_draws_nothing() -> None:
    images, stream = blobs(3), generator()
    before = stream.get_state()
    assert jitter(images, 0, stream) is images
    assert torch.equal(stream.get_state(), before)


def test_each_image_is_moved_differently_and_reproducibly() -> None:
    images = blobs(64)
    moved = jitter(images, 1.0, generator())
    assert moved.shape == images.shape
    assert torch.equal(moved, jitter(images, 1.0, generator()))
    assert not torch.equal(moved, jitter(images, 1.0, generator(2)))
    assert len({tuple(centre) for centre in centres(moved).tolist()}) == 64
    assert moved.min() >= -1 - 1e-6
    assert moved.max() <= 1 + 1e-6


@pytest.mark.parametrize("strength", [0.25, 1.0])
def test_shifts_are_unbiased_and_bounded(strength: float) -> None:
    spread = centres(jitter(blobs(2000), strength, generator())) - centres(blobs(1))
    assert spread.mean(dim=0).abs().max() < 0.03
    # The spot is about 0.5 from the centre: scale, stretch, shear, rotation and shift add up to less than this.
    assert spread.abs().max() < strength * (0.15 + 0.55 * (0.2 + 0.1 + 0.2 + ROTATION) * 1.4)
    assert spread.std(dim=0).min() > strength * 0.05


def test_constant_images_stay_constant() -> None:
    """Pixels from outside the image repeat its border, so that no frame appears."""
    images = torch.full((8, 3, 16, 16), 0.5)
    torch.testing.assert_close(jitter(images, 1.0, generator()), images)
