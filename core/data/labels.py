"""Labels: the classes of a task, and complementary labels, which are classes that an image is known not to be."""

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from core.data.custom_domains import sort_class_names
from core.data.task_data import MAX_CLASSES, MAX_NAME, DomainSplits, Labels, Mask, Split
from core.errors import InputError


def common_classes(source: DomainSplits, target: DomainSplits) -> tuple[str, ...]:
    """Return the classes of the source, all that the target may have; files without names count from 0."""
    source_names, target_names = _class_names(source), _class_names(target)
    named = source_names or target_names or ()
    if set(named) != {str(number) for number in range(len(named))}:
        for split in (*source.splits, *target.splits):
            if split.names is None and split.label_count:
                raise InputError(
                    f"{split.origin}: labels are numbers, but the classes are named {_format_names(set(named))}; "
                    "add an array `classes` with their names"
                )
    count = max(split.label_count for split in source.splits)
    names = source_names or tuple(str(number) for number in range(count))
    if target_names and not set(target_names) <= set(names):
        only = ((source.origin, set(names) - set(target_names)), (target.origin, set(target_names) - set(names)))
        differences = "; ".join(f"only {origin} has {_format_names(names)}" for origin, names in only if names)
        raise InputError(f"{source.origin} and {target.origin} have different classes: {differences}")
    if len(names) < 2:
        raise InputError(f"{source.train.origin}: labels contain only {len(names)} class; a task needs two or more")
    for split in target.splits:  # labels of the target measure a model and never change it
        if split.names is None and split.label_count > len(names):
            raise InputError(
                f"{split.origin}: has labels from 0 to {split.label_count - 1}, but the source {source.origin} has "
                f"{len(names)} classes; use -1 for images of other classes, or name all in `classes` of the source"
            )
    # Neither the journal of a run nor the file of a model can have more classes or other names.
    if len(names) > MAX_CLASSES:
        raise InputError(f"{source.origin}: has {len(names)} classes; at most {MAX_CLASSES} are possible")
    for name in names:
        if len(name) > MAX_NAME or name.encode(errors="replace").decode() != name:
            raise InputError(
                f"{source.origin}: class {name[:80]!a}: expected a name in UTF-8 of at most {MAX_NAME} letters"
            )
    return names


def missing_classes(domain: DomainSplits, classes: tuple[str, ...]) -> str | None:
    """Return a note if a domain with labels has no image of some class."""
    labels = [encode_labels(split, classes)[0] for split in domain.splits]
    present = {int(label) for y in labels for label in np.unique(y[y >= 0])}
    absent = {name for number, name in enumerate(classes) if number not in present}
    return f"{domain.domain.title} has no image of {_format_names(absent)}" if present and absent else None


def _class_names(domain: DomainSplits) -> tuple[str, ...] | None:
    """Return a domain's class names: in the order of its file if that lists all of them, else sorted."""
    named = [split.names for split in domain.splits if split.names is not None]
    if not named:
        return None
    all_names = {name for names in named for name in names}
    return named[0] if len(named[0]) == len(all_names) else sort_class_names(tuple(all_names))


def encode_labels(split: Split, classes: tuple[str, ...]) -> tuple[Labels, Mask | None]:
    """Return true and complementary labels in the task's classes; an image's own label must not be ruled out."""
    numbers = tuple(str(number) for number in range(len(classes)))
    names = split.names or (numbers if split.label_count else classes)
    indices = np.array([classes.index(name) for name in names] + [-1], dtype=np.int64)
    _check_range(split, "y", split.y, names)
    y = indices[split.y]
    if split.ybar is None:
        return y, None
    mask = np.zeros((len(split), len(classes)), dtype=np.bool_)
    if split.ybar.ndim == 2:
        if split.ybar.shape[1] != len(names):
            raise InputError(
                f"{split.origin}: ybar: expected a column for each of {len(names)} classes, got {split.ybar.shape[1]}"
            )
        mask[:, indices[:-1]] = split.ybar
    else:
        labels = split.ybar.astype(np.int64)
        _check_range(split, "ybar", labels, names)
        rows = np.flatnonzero(labels >= 0)
        mask[rows, indices[labels[rows]]] = True
    known = np.flatnonzero(y >= 0)
    wrong = known[mask[known, y[known]]]
    if len(wrong):
        raise InputError(
            f"{split.origin}: image {wrong[0]}: its complementary label {classes[y[wrong[0]]]} is also its true label; "
            "correct one of them"
        )
    return y, mask


def _check_range(split: Split, key: str, labels: Labels, names: tuple[str, ...]) -> None:
    high = np.flatnonzero(labels >= len(names))
    if len(high):
        raise InputError(
            f"{split.origin}: {key}: label {labels[high[0]]} of image {high[0]} is out of range; "
            f"there are {len(names)} classes, counted from 0"
        )


def _format_names(names: set[str]) -> str:
    shown = list(sort_class_names(tuple(names)))
    return ", ".join(shown[:8]) + (f" and {len(shown) - 8} more" if len(shown) > 8 else "")


DRAWN_AT_ONCE = 4096
"""Number of images whose labels are drawn at a time; bounds memory when there are thousands of classes."""


def draw_complementary(y: Labels, classes: int, per_sample: int, seed: int) -> Mask:
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
    y: Labels, ybar: Mask | None, classes: int, per_sample: int, seed: int, true_fraction: float = 0.0
) -> Mask:
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


def label_weights(mask: Mask) -> NDArray[np.float32]:
    """Return the share that each complementary label has in its image: every row sums to 1."""
    weights: NDArray[np.float32] = (mask / mask.sum(axis=1, keepdims=True)).astype(np.float32)
    return weights


def class_priors(mask: Mask) -> NDArray[np.float64]:
    """Return π̄ of the whole source set: the share of each class among the complementary labels."""
    priors: NDArray[np.float64] = (mask / mask.sum(axis=1, keepdims=True)).mean(axis=0)
    return priors


def label_hash(mask: Mask) -> str:
    """Return twelve hexadecimal digits that identify the complementary labels."""
    digest = blake2b(f"{mask.shape}".encode(), digest_size=6)
    digest.update(np.packbits(mask).tobytes())
    return digest.hexdigest()
