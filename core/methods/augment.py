"""Random changes of a batch of images, on the device and from random streams of their own."""

import torch
from torch import Generator, Tensor
from torch.nn import functional

SCALE, STRETCH, ROTATION, SHEAR, SHIFT = 0.2, 0.1, 0.25, 0.2, 0.15
"""Largest changes at strength 1: factors of the size and of the aspect ratio, radians, and shares of half the image."""


def jitter(images: Tensor, strength: float, generator: Generator) -> Tensor:
    """Return each image (B, C, H, W) scaled, stretched, rotated, sheared and shifted at random."""
    drawn = torch.rand((6, len(images)), generator=generator, device=images.device, dtype=images.dtype)
    scale, stretch, angle, shear, right, down = (2 * drawn - 1) * strength
    size, aspect = 1 + SCALE * scale, 1 + STRETCH * stretch
    cos, sin = torch.cos(ROTATION * angle), torch.sin(ROTATION * angle)
    rows = (
        size * cos * aspect,
        SHEAR * shear - size * sin,
        SHIFT * right,
        size * sin,
        size * cos / aspect,
        SHIFT * down,
    )
    return _transform(images, rows)


def crop_and_flip(images: Tensor, crop: float, flip: bool, generator: Generator) -> Tensor:
    """Return each image (B, C, H, W) as a random window of itself at its old size, and half of them mirrored.

    A window leaves out at most the share `crop` of height and width, the same of both, so that proportions are kept.
    """
    drawn = torch.rand((4, len(images)), generator=generator, device=images.device, dtype=images.dtype)
    size = 1 - crop * drawn[0]
    right, down = ((2 * drawn[1] - 1) * (1 - size), (2 * drawn[2] - 1) * (1 - size))
    mirror = torch.where(drawn[3] < 0.5, -1.0, 1.0).to(size) if flip else torch.ones_like(size)
    zero = torch.zeros_like(size)
    rows = (size * mirror, zero, right, zero, size, down)
    return _transform(images, rows)


def _transform(images: Tensor, rows: tuple[Tensor, ...]) -> Tensor:
    """Apply the affine transformations whose two rows are given, one value for each image."""
    transformation = torch.stack(rows, dim=1).view(-1, 2, 3)
    grid = functional.affine_grid(transformation, list(images.shape), align_corners=False)
    return functional.grid_sample(images, grid, padding_mode="border", align_corners=False)


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
