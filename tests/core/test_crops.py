"""Random crops and reflections of images: bounds, random stream and exact resume."""

from pathlib import Path

import torch

from core.methods.augment import crop_and_flip
from core.training.train import train
from tests.support.tiny import repeatable, steps, tiny_config, tiny_data


def generator(seed: int = 1) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


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


def test_cropped_run_is_resumed_exactly(tmp_path: Path) -> None:
    config, data = tiny_config("basset", epoch_iterations=0, crop=0.3, flip=True), tiny_data()
    expected = [repeatable(event) for event in steps(list(train(config, data=data)))]
    stops = iter([False] * 10 + [True])
    before = list(train(config, data=data, checkpoint_dir=tmp_path, should_stop=lambda: next(stops)))
    after = list(train(config, data=data, checkpoint_dir=tmp_path, resume=True))
    assert [repeatable(event) for event in (*steps(before), *steps(after))] == expected
    plain = [repeatable(event) for event in steps(list(train(tiny_config("basset", epoch_iterations=0), data=data)))]
    assert plain != expected
