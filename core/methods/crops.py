"""Random crops and reflections of a batch of images, on the device and from a random stream of their own."""

import torch
from torch import Generator, Tensor
from torch.nn import functional


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
    transformation = torch.stack(rows, dim=1).view(-1, 2, 3)
    grid = functional.affine_grid(transformation, list(images.shape), align_corners=False)
    return functional.grid_sample(images, grid, padding_mode="border", align_corners=False)
