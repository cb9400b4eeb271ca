"""Random changes of images: bounds, random streams, and where they apply."""

from typing import Any

import pytest
import torch
from torch import Tensor

from core.methods.augment import BRIGHTNESS, CONTRAST, ROTATION, crop_and_flip, jitter, recolour
from core.training.train import train
from tests.support.tiny import steps, tiny_config, tiny_data


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


def ramps(count: int) -> torch.Tensor:
    """Return images whose value is the column, from -1 to 1."""
    return torch.linspace(-1, 1, 65).expand(count, 1, 65, 65).contiguous()


def test_windows_are_inside_the_image_and_differ() -> None:
    cropped = crop_and_flip(ramps(500), 0.5, False, generator())
    left, right = cropped[:, 0, 32, 0], cropped[:, 0, 32, -1]
    assert (left >= -1).all()
    assert (right <= 1).all()
    widths = (right - left) / 2
    assert 0.48 < widths.min() < 0.55
    assert 0.95 < widths.max() <= 1
    assert len(set(left.tolist())) > 400
    assert torch.equal(cropped, crop_and_flip(ramps(500), 0.5, False, generator()))


def test_half_of_the_images_are_mirrored() -> None:
    flipped = crop_and_flip(ramps(1000), 0.0, True, generator())
    is_mirrored = flipped[:, 0, 0, 0] > 0
    assert 430 < int(is_mirrored.sum()) < 570
    torch.testing.assert_close(flipped[is_mirrored], ramps(int(is_mirrored.sum())).flip(3), atol=1e-5, rtol=0)
    torch.testing.assert_close(flipped[~is_mirrored], ramps(1000 - int(is_mirrored.sum())), atol=1e-5, rtol=0)


def colour_ramps(count: int) -> Tensor:
    """Return images of three channels, each with pixels from -1 to 1."""
    return torch.linspace(-1, 1, 16).view(1, 1, 4, 4).repeat(count, 3, 1, 1)


def test_each_channel_is_a_linear_function_of_what_it_was_within_the_bounds() -> None:
    images = colour_ramps(500)
    changed = recolour(images, generator())
    factors = (changed[:, :, -1, -1] - changed[:, :, 0, 0]) / 2
    shifts = (changed[:, :, -1, -1] + changed[:, :, 0, 0]) / 2
    expected = factors[:, :, None, None] * images + shifts[:, :, None, None]

    torch.testing.assert_close(changed, expected)
    assert CONTRAST[0] <= factors.abs().min() < CONTRAST[0] + 0.05
    assert CONTRAST[1] - 0.05 < factors.abs().max() <= CONTRAST[1]
    assert BRIGHTNESS - 0.05 < shifts.abs().max() <= BRIGHTNESS
    assert abs(shifts.mean()) < 0.03
    assert abs((factors < 0).float().mean() - 0.5) < 0.05
    assert ((factors < 0).sum(dim=1) % 3 != 0).any(), "channels are inverted on their own"
    assert torch.equal(changed, recolour(images, generator()))
    assert not torch.equal(changed, recolour(images, generator(2)))


@pytest.mark.parametrize("settings", [{"recolour": True}, {"jitter": 1.0, "warmup_jitter": False}])
def test_only_adaptation_changes_images(settings: dict[str, Any]) -> None:
    common = {"jitter": 0.0, "epoch_iterations": 3}
    plain, changed = (
        steps(list(train(tiny_config("basset", **common | more), data=tiny_data()))) for more in ({}, settings)
    )
    warm_up = [step.iteration for step in plain if "lambda" not in step.metrics]
    losses = [[step.metrics["complementary_loss"] for step in run] for run in (plain, changed)]

    assert warm_up == [1, 2, 3]
    assert losses[0][:3] == losses[1][:3]
    assert all(one != two for one, two in zip(losses[0][3:], losses[1][3:], strict=True))
