"""Complementary labels: classes that an image is known not to be, as an (N, K) mask."""

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from core.data.task_data import ImageSet
from core.errors import InputError

ROWS = 4096
"""Images whose labels are drawn at a time, which bounds memory when there are thousands of classes."""


def draw_complementary(y: NDArray[np.int64], classes: int, per_sample: int, seed: int) -> NDArray[np.bool_]:
    """Draw distinct wrong labels of each image, uniform over the K-1; a larger `per_sample` extends a smaller one."""
    if per_sample > classes - 1:
        raise InputError(
            f"ybars_per_sample: {classes} classes have {classes - 1} wrong labels an image, got {per_sample}"
        )
    random = np.random.default_rng(seed)
    mask = np.zeros((len(y), classes), dtype=np.bool_)
    for start in range(0, len(y), ROWS):
        true = y[start : start + ROWS, None]
        order = np.argsort(random.random((len(true), classes - 1)), axis=1)
        wrong = (true + 1 + order[:, :per_sample]) % classes
        np.put_along_axis(mask[start : start + ROWS], wrong, True, axis=1)
    return mask


def complementary_mask(images: ImageSet, classes: int, per_sample: int, seed: int) -> NDArray[np.bool_]:
    """Return the classes each image is known not to be, given or drawn; none if the image has no label at all.

    In a set that gives complementary labels, a true label without one stands for all K-1 complementary ones.
    """
    known = images.y >= 0
    if images.ybar is None:
        mask = np.zeros((len(images.y), classes), dtype=np.bool_)
        mask[known] = draw_complementary(images.y[known], classes, per_sample, seed)
        return mask
    mask = images.ybar.copy()
    only_true = known & ~mask.any(axis=1)
    mask[only_true] = np.arange(classes) != images.y[only_true, None]
    return mask


def label_weights(mask: NDArray[np.bool_]) -> NDArray[np.float32]:
    """The share that each complementary label has in its image: every row sums to 1."""
    weights: NDArray[np.float32] = (mask / mask.sum(axis=1, keepdims=True)).astype(np.float32)
    return weights


def class_priors(mask: NDArray[np.bool_]) -> NDArray[np.float64]:
    """π̄ of the whole source set: the share of each class among the complementary labels."""
    priors: NDArray[np.float64] = (mask / mask.sum(axis=1, keepdims=True)).mean(axis=0)
    return priors


def label_hash(mask: NDArray[np.bool_]) -> str:
    """Twelve hexadecimal digits that name this draw."""
    digest = blake2b(f"{mask.shape}".encode(), digest_size=6)
    digest.update(np.packbits(mask).tobytes())
    return digest.hexdigest()
