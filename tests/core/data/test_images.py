"""Images are converted to another shape as by Pillow."""

import numpy as np
import pytest
from PIL import Image

from core.data.images import can_convert, convert_images, resize, to_grey
from tests.support.image_folders import images


@pytest.mark.parametrize(
    ("have", "want"), [((16, 16), (28, 28)), ((32, 32), (28, 28)), ((40, 30), (7, 50)), ((8, 8), (28, 28))]
)
def test_resize_equals_pillows_bilinear(have: tuple[int, int], want: tuple[int, int]) -> None:
    x = images(5, (*have, 3))

    ours = resize(x, *want)

    for image, result in zip(x, ours, strict=True):
        theirs = Image.fromarray(image).resize((want[1], want[0]), Image.Resampling.BILINEAR)
        assert np.abs(np.asarray(theirs, dtype=int) - result).max() <= 1


def test_resize_to_the_same_size_returns_the_array() -> None:
    x = images(3)

    assert resize(x, 6, 5) is x


def test_grey_is_itu_r_601() -> None:
    x = images(4, (9, 9, 3))

    for image, grey in zip(x, to_grey(x), strict=True):
        theirs = np.asarray(Image.fromarray(image).convert("L"), dtype=int)
        assert np.abs(theirs - grey[..., 0]).max() <= 1


def test_grey_is_converted_to_three_equal_channels() -> None:
    x = images(2, (8, 8, 1))
    colour = convert_images(x, (8, 8, 3))

    assert (colour == x).all()
    assert (convert_images(colour, (8, 8, 1)) == x).all()


def test_only_grey_and_colour_can_be_converted() -> None:
    assert can_convert(1, 3)
    assert can_convert(3, 1)
    assert can_convert(5, 5)
    assert not can_convert(4, 3)
