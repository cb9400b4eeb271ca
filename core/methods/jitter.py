"""Random affine transformations of a batch of images, on the device and from a random stream of their own."""

import torch
from torch import Generator, Tensor
from torch.nn import functional

SCALE, STRETCH, ROTATION, SHEAR, SHIFT = 0.2, 0.1, 0.25, 0.2, 0.15
"""Largest changes at strength 1: factors of the size and of the aspect ratio, radians, and shares of half the image."""


def jitter(images: Tensor, strength: float, generator: Generator) -> Tensor:
    """Return each image (B, C, H, W) scaled, stretched, rotated, sheared and shifted at random; 0 changes nothing."""
    if strength == 0:
        return images
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
    transformation = torch.stack(rows, dim=1).view(-1, 2, 3)
    grid = functional.affine_grid(transformation, list(images.shape), align_corners=False)
    return functional.grid_sample(images, grid, padding_mode="border", align_corners=False)
