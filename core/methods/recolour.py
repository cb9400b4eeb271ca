"""Random changes of the colours of a batch of images, on the device and from a random stream of their own."""

import torch
from torch import Generator, Tensor

CONTRAST = (0.3, 1.3)
"""Smallest and largest factor of a channel."""
BRIGHTNESS = 0.5
"""Largest shift of a channel; pixels are between -1 and 1."""


def recolour(images: Tensor, generator: Generator) -> Tensor:
    """Invert the channels of images (B, C, H, W) half of the time, and change their contrast and brightness.

    Each channel of each image is changed on its own: the shape of a digit is the same in any colours.
    """
    shape = (3, *images.shape[:2], 1, 1)
    drawn = torch.rand(shape, generator=generator, device=images.device, dtype=images.dtype)
    inverted, factor, shift = drawn[0], drawn[1], drawn[2]
    low, high = CONTRAST
    sign = torch.where(inverted < 0.5, -1.0, 1.0).to(images.dtype)
    return images * (sign * (low + (high - low) * factor)) + BRIGHTNESS * (2 * shift - 1)
