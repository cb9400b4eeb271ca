"""Random changes of colours: bounds, independence of channels, and where they apply."""

from typing import Any

import pytest
import torch
from torch import Tensor

from core.methods.augment import BRIGHTNESS, CONTRAST, recolour
from core.training.train import train
from tests.support.tiny import steps, tiny_config, tiny_data


def generator(seed: int = 1) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def ramps(count: int) -> Tensor:
    """Return images of three channels, each with pixels from -1 to 1."""
    return torch.linspace(-1, 1, 16).view(1, 1, 4, 4).repeat(count, 3, 1, 1)


def test_each_channel_is_a_linear_function_of_what_it_was_within_the_bounds() -> None:
    images = ramps(500)
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


def test_the_stream_decides() -> None:
    images = ramps(4)
    assert torch.equal(recolour(images, generator()), recolour(images, generator()))
    assert not torch.equal(recolour(images, generator()), recolour(images, generator(2)))


@pytest.mark.parametrize("settings", [{"recolour": True}, {"jitter": 1.0, "warmup_jitter": False}])
def test_only_adaptation_changes_images(settings: dict[str, Any]) -> None:
    common = {"jitter": 0.0, "epoch_iterations": 3}
    plain, changed = (
        steps(list(train(tiny_config("basset", **common | more), data=tiny_data()))) for more in ({}, settings)
    )
    warm_up = [step.iteration for step in plain if "lambda" not in step.measured]
    losses = [[step.measured["complementary_loss"] for step in run] for run in (plain, changed)]

    assert warm_up == [1, 2, 3]
    assert losses[0][:3] == losses[1][:3]
    assert all(one != two for one, two in zip(losses[0][3:], losses[1][3:], strict=True))
