"""Complementary labels: classes that an image is known not to be, as an (N, K) mask."""

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from core.errors import InputError

DRAWN_AT_ONCE = 4096
"""Number of images whose labels are drawn at a time; bounds memory when there are thousands of classes."""


def draw_complementary(y: NDArray[np.int64], classes: int, per_sample: int, seed: int) -> NDArray[np.bool_]:
    """Draw distinct wrong labels of each image, uniform over the K-1; a larger `per_sample` extends a smaller one."""
    if per_sample > classes - 1:
        raise InputError(
            f"ybars_per_sample: {classes} classes have {classes - 1} wrong labels an image, got {per_sample}"
        )
    random = np.random.default_rng(seed)
    mask = np.zeros((len(y), classes), dtype=np.bool_)
    for start in range(0, len(y), DRAWN_AT_ONCE):
        true = y[start : start + DRAWN_AT_ONCE, None]
        order = np.argsort(random.random((len(true), classes - 1)), axis=1)
        wrong = (true + 1 + order[:, :per_sample]) % classes
        np.put_along_axis(mask[start : start + DRAWN_AT_ONCE], wrong, True, axis=1)
    return mask


def complementary_mask(
    y: NDArray[np.int64],
    ybar: NDArray[np.bool_] | None,
    classes: int,
    per_sample: int,
    seed: int,
    true_fraction: float = 0.0,
) -> NDArray[np.bool_]:
    """Return the classes each image is known not to be: from `ybar`, or drawn where only `y` is known.

    A true label stands for all K-1 complementary ones. It is used where the data has complementary labels but not for
    this image, and for a random `true_fraction` of images whose labels are drawn; a larger one extends a smaller one.
    """
    known = y >= 0
    if ybar is None:
        mask = np.zeros((len(y), classes), dtype=np.bool_)
        mask[known] = draw_complementary(y[known], classes, per_sample, seed)
        chosen = np.random.default_rng([seed, 1]).random(len(y)) < true_fraction
        has_true_label = known & chosen
    else:
        mask = ybar.copy()
        has_true_label = known & ~mask.any(axis=1)
    mask[has_true_label] = np.arange(classes) != y[has_true_label, None]
    return mask


def label_weights(mask: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Return the share that each complementary label has in its image: every row sums to 1."""
    weights: NDArray[np.float32] = (mask / mask.sum(axis=1, keepdims=True)).astype(np.float32)
    return weights


def class_priors(mask: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return π̄ of the whole source set: the share of each class among the complementary labels."""
    priors: NDArray[np.float64] = (mask / mask.sum(axis=1, keepdims=True)).mean(axis=0)
    return priors


def label_hash(mask: NDArray[np.bool_]) -> str:
    """Return twelve hexadecimal digits that identify the complementary labels."""
    digest = blake2b(f"{mask.shape}".encode(), digest_size=6)
    digest.update(np.packbits(mask).tobytes())
    return digest.hexdigest()
