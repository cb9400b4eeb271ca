"""Which classes a task has, and the labels of both domains counted in them."""

from dataclasses import dataclass

import numpy as np

from core.data.image_folders import class_order
from core.data.splits import DomainSplits, Labels, Mask, Split
from core.errors import InputError


def common_classes(source: DomainSplits, target: DomainSplits) -> tuple[str, ...]:
    """The classes that both domains have, by name; files without names count from 0."""
    ours, theirs = _names(source), _names(target)
    if ours and theirs and set(ours) != set(theirs):
        only = ((source.place, set(ours) - set(theirs)), (target.place, set(theirs) - set(ours)))
        differences = "; ".join(f"only {where} has {_listed(names)}" for where, names in only if names)
        raise InputError(f"{source.place} and {target.place} have different classes: {differences}")
    names = ours or theirs
    unnamed = [part for domain in (source, target) for part in domain.splits if part.names is None]
    if names is None:
        names = tuple(str(number) for number in range(max(part.label_count for part in unnamed)))
    else:
        _check_numbers(names, unnamed)
    if len(names) < 2:
        raise InputError(f"{source.train.place}: its labels speak of {len(names)} class; a task needs two or more")
    return names


def _names(domain: DomainSplits) -> tuple[str, ...] | None:
    """The names of a domain: in the order of its file where that gives one, else sorted."""
    named = [part.names for part in domain.splits if part.names is not None]
    if not named:
        return None
    together = {name for names in named for name in names}
    return named[0] if len(named[0]) == len(together) else class_order(tuple(together))


def _check_numbers(names: tuple[str, ...], unnamed: list[Split]) -> None:
    """A file without names can only meet classes that are called 0, 1, 2, …"""
    numbers = {str(number) for number in range(len(names))}
    for part in unnamed:
        if part.label_count and set(names) != numbers:
            raise InputError(
                f"{part.place}: its labels are numbers, but the classes are called {_listed(set(names))}; "
                "add an array classes with their names"
            )


@dataclass(frozen=True)
class EncodedLabels:
    """The labels of a part, counted in the task's classes."""

    y: Labels
    ybar: Mask | None


def encode_labels(part: Split, classes: tuple[str, ...]) -> EncodedLabels:
    """The part's labels as numbers of the task's classes, checked against each other."""
    numbers = tuple(str(number) for number in range(len(classes)))
    own = part.names or (numbers if part.label_count else classes)
    number_of = np.array([classes.index(name) for name in own] + [-1], dtype=np.int64)
    _check_range(part, "y", part.y, own)
    y = number_of[part.y]
    if part.ybar is None:
        return EncodedLabels(y, None)
    mask = np.zeros((len(part), len(classes)), dtype=np.bool_)
    if part.ybar.ndim == 2:
        if part.ybar.shape[1] != len(own):
            raise InputError(
                f"{part.place}: ybar: expected a column for each of {len(own)} classes, got {part.ybar.shape[1]}"
            )
        mask[:, number_of[:-1]] = part.ybar
    else:
        labels = part.ybar.astype(np.int64)
        _check_range(part, "ybar", labels, own)
        rows = np.flatnonzero(labels >= 0)
        mask[rows, number_of[labels[rows]]] = True
    _check_truth(part, y, mask, classes)
    return EncodedLabels(y, mask)


def check_source_classes(part: Split, coded: EncodedLabels, classes: tuple[str, ...]) -> None:
    """Every class has an image in a source that is labelled by its true classes."""
    if coded.ybar is not None or not (coded.y >= 0).any():
        return
    missing = np.flatnonzero(np.bincount(coded.y[coded.y >= 0], minlength=len(classes)) == 0)
    if len(missing):
        raise InputError(
            f"{part.place}: the source has no image of class {classes[missing[0]]}; add some, or drop the class "
            "from both domains"
        )


def _check_range(part: Split, key: str, labels: Labels, names: tuple[str, ...]) -> None:
    high = np.flatnonzero(labels >= len(names))
    if len(high):
        raise InputError(
            f"{part.place}: {key}: label {labels[high[0]]} of image {high[0]} is out of range; "
            f"there are {len(names)} classes, counted from 0"
        )


def _check_truth(part: Split, y: Labels, mask: Mask, classes: tuple[str, ...]) -> None:
    known = np.flatnonzero(y >= 0)
    wrong = known[mask[known, y[known]]]
    if len(wrong):
        raise InputError(
            f"{part.place}: image {wrong[0]}: its complementary label {classes[y[wrong[0]]]} is also its true label; "
            "mend one of them"
        )


def _listed(names: set[str]) -> str:
    shown = list(class_order(tuple(names)))
    return ", ".join(shown[:8]) + (f" and {len(shown) - 8} more" if len(shown) > 8 else "")
