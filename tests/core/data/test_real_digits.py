"""The real digits are complete and equal to those that torchvision reads."""

from pathlib import Path

import numpy as np
import pytest

from core.data.digit_domains import read_mnist, read_usps
from core.data.labels import class_priors
from core.data.torchvision_import import torchvision
from tests.support.image_folders import load

pytestmark = pytest.mark.digits


@pytest.mark.parametrize("train", [True, False])
def test_mnist_and_usps_equal_those_of_torchvision(train: bool, digits: Path) -> None:
    sets = torchvision().datasets
    mnist, usps = sets.MNIST(digits / "mnist", train=train), sets.USPS(digits / "usps", train=train)
    mnist_x, mnist_y = read_mnist(digits / "mnist" / "MNIST" / "raw", train)
    usps_x, usps_y = read_usps(digits / "usps", train)
    assert (mnist_x[..., 0] == mnist.data.numpy()).all()
    assert (mnist_y == mnist.targets.numpy()).all()
    assert (usps_x[..., 0] == usps.data).all()
    assert (usps_y == np.array(usps.targets)).all()


def test_mnist_and_usps_are_complete(digits: Path) -> None:
    data = load("M", "U", digits)
    assert data.source_test is not None
    assert [len(part) for part in (data.source_train, data.source_test)] == [60000, 10000]
    assert [len(part) for part in (data.target_train, data.target_test)] == [7291, 2007]
    assert data.shape == (28, 28, 1)
    assert data.notes == ()
    assert data.source_train.ybar is not None
    assert class_priors(data.source_train.ybar) == pytest.approx(np.full(10, 0.1), abs=0.005)
    shuffled = load("U", "M", digits, usps_split="80/20")
    assert shuffled.source_test is not None
    assert (len(shuffled.source_train), len(shuffled.source_test)) == (7438, 1860)


@pytest.mark.parametrize(("source", "target", "size"), [("S", "M", 10000), ("m", "S", 10000), ("M", "m", 60000)])
def test_colour_tasks_have_all_classes_in_colour(source: str, target: str, size: int, digits: Path) -> None:
    data = load(source, target, digits, target_size=500)
    assert data.shape == (32, 32, 3)
    assert len(data.source_train) == size
    assert len(data.target_train) == 500
    for part in (data.source_train, data.target_train, data.target_test):
        assert part.x.shape[1:] == (32, 32, 3)
        assert part.x.dtype == np.uint8
        assert set(part.y.tolist()) == set(range(10))
    assert data.notes
