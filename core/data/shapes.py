"""Height, width and channels: bringing images of one shape to another."""

import numpy as np
from numpy.typing import NDArray

from core.data.task_data import Shape

LUMA = (0.299, 0.587, 0.114)
"""ITU-R 601: how bright red, green and blue are."""


def can_convert(have: int, want: int) -> bool:
    """Whether images of so many channels can become images of so many others."""
    return have == want or {have, want} == {1, 3}


def convert_images(x: NDArray[np.uint8], shape: Shape) -> NDArray[np.uint8]:
    """A batch (N, H, W, C) brought to height, width and channels; the size changes where there are fewest channels."""
    if x.shape[3] == 3 and shape[2] == 1:
        x = to_grey(x)
    x = resize(x, shape[0], shape[1])
    if x.shape[3] == 1 and shape[2] == 3:
        x = np.repeat(x, 3, axis=3)
    return x


def to_grey(x: NDArray[np.uint8]) -> NDArray[np.uint8]:
    grey = x.astype(np.float32) @ np.array(LUMA, dtype=np.float32)
    return np.rint(grey).astype(np.uint8)[..., None]


def resize(x: NDArray[np.uint8], height: int, width: int) -> NDArray[np.uint8]:
    """Bilinear, with the filter widened where images shrink, as Pillow does it; two matrix products a batch."""
    count, have_height, have_width, channels = x.shape
    if (have_height, have_width) == (height, width):
        return x
    planes = np.ascontiguousarray(x.transpose(0, 3, 1, 2), dtype=np.float32)
    planes = planes.reshape(-1, have_width) @ _weights(have_width, width).T
    planes = _weights(have_height, height) @ planes.reshape(count * channels, have_height, width)
    resized = np.clip(np.rint(planes), 0, 255).astype(np.uint8)
    return np.ascontiguousarray(resized.reshape(count, channels, height, width).transpose(0, 2, 3, 1))


def _weights(have: int, want: int) -> NDArray[np.float32]:
    """(want, have): the share of every old pixel in every new one."""
    scale = have / want
    reach = max(scale, 1.0)
    centre = (np.arange(want) + 0.5) * scale
    distance = np.abs(np.arange(have) + 0.5 - centre[:, None]) / reach
    weights = np.maximum(0.0, 1.0 - distance)
    normal: NDArray[np.float32] = (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)
    return normal
