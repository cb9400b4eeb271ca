"""Load a task's data: read both domains, convert them to shared classes and one shape, and take subsets."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from core.config import RunConfig
from core.data.cache import Scratch
from core.data.custom_domains import read_custom_domain
from core.data.digit_domains import read_digit_domain, shuffle_split
from core.data.images import FileImages, ImageSource, ProgressCallback, Rows, can_convert, decode_files, read_images
from core.data.labels import common_classes, complementary_mask, encode_labels, missing_classes
from core.data.task_data import DomainSplits, ImageSet, Split, TaskData
from core.errors import InputError
from core.methods import data_seed
from core.random_streams import stream_seed
from core.tasks import Domain, Shape, Task, parse_task


def load_task(config: RunConfig, data_dir: Path, progress: ProgressCallback | None = None) -> TaskData:
    """Load the data of the configured task; `progress` is called with what is done, how much and the total."""
    task = parse_task(config.task)
    scratch = Scratch(data_dir, config.memory_limit_gb * 2**30)
    progress = progress or (lambda what, done, total: None)
    source, target = (_read_domain(domain, config, scratch, progress) for domain in (task.source, task.target))
    given = source.train.ybar
    has_ybar = given is not None and (given.any() if given.ndim == 2 else (given >= 0).any())
    if not has_ybar and not (source.train.y >= 0).any():
        raise InputError(
            f"{source.train.origin}: the source has no labels; give complementary labels (ybar) or true ones (y)"
        )
    classes = common_classes(source, target)
    shape, shape_notes = common_shape(task, source, target, config.image_size)
    loader = _Loader(config, scratch, progress, classes, shape)
    train, dropped = loader.source_set(task.source, source.train, "train")
    source_test = None if source.test is None else loader.source_set(task.source, source.test, "test")[0]
    target_train = loader.target_set(task.target, target.train, "train")
    target_test = target_train if target.test is None else loader.target_set(task.target, target.test, "test")
    notes = [*source.notes, *(note for note in target.notes if note not in source.notes), *shape_notes]
    if dropped:
        notes.append(f"{task.source.title}: {dropped} source images have no label of any kind and were left out")
    if task.target.is_custom and (missing := missing_classes(target, classes)):
        notes.append(missing)
    if target.test is None:
        notes.append(f"{task.target.title} has no test images: the target is measured on what it was trained on")
    return TaskData(train, source_test, target_train, target_test, classes, tuple(notes))


def _read_domain(domain: Domain, config: RunConfig, scratch: Scratch, progress: ProgressCallback) -> DomainSplits:
    if domain.is_custom:
        return read_custom_domain(domain, config.image_size, scratch, progress, cut=config.fit == "cut")
    splits = read_digit_domain(domain, scratch, progress)
    return shuffle_split(splits) if domain.name == "usps" and config.usps_split == "80/20" else splits


@dataclass(frozen=True)
class _Loader:
    config: RunConfig
    scratch: Scratch
    progress: ProgressCallback
    classes: tuple[str, ...]
    shape: Shape

    def source_set(self, domain: Domain, split: Split, name: str) -> tuple[ImageSet, int]:
        """Return labelled source images and how many were left out.

        Complementary labels are drawn before a subset is taken, so that all label budgets share them.
        """
        classes = self.classes
        y, ybar = encode_labels(split, classes)
        if name == "train" and ybar is None and (y >= 0).any():
            missing = np.flatnonzero(np.bincount(y[y >= 0], minlength=len(classes)) == 0)
            if len(missing):
                raise InputError(
                    f"{split.origin}: the source has no image of class {classes[missing[0]]}; add some, or remove the "
                    "class from both domains"
                )
        seed = stream_seed(data_seed(self.config), "complementary labels", domain.name, name)
        true_fraction = self.config.true_fraction if name == "train" else 0.0
        mask = complementary_mask(y, ybar, len(classes), self.config.ybars_per_sample, seed, true_fraction)
        rows = np.flatnonzero(mask.any(axis=1))
        dropped = len(split) - len(rows)
        if not len(rows):
            rows = np.arange(len(split))
        train_budget = (self.config.source_size, self.config.source_fraction)
        budget = train_budget if name == "train" else (self.config.test_size, 1.0)
        chosen = rows[self._subset(domain, name, len(rows), *budget)]
        x = self._read_images(domain, split, chosen)
        return ImageSet(x, y[chosen], mask[chosen] if mask.any() else None), dropped

    def target_set(self, domain: Domain, split: Split, name: str) -> ImageSet:
        """Return target images; their labels are for evaluation only."""
        y, _ = encode_labels(split, self.classes)
        size = self.config.target_size if name == "train" else self.config.test_size
        chosen = self._subset(domain, name, len(split), size, 1.0)
        return ImageSet(self._read_images(domain, split, chosen), y[chosen], None)

    def _subset(self, domain: Domain, name: str, count: int, size: int, fraction: float) -> Rows:
        """Return sorted random rows; a smaller subset is always part of a larger one."""
        keep = max(1, round(min(size or count, count) * fraction))
        seed = stream_seed(data_seed(self.config), "subset", domain.name, name)
        return np.sort(np.random.default_rng(seed).permutation(count)[:keep])

    def _read_images(self, domain: Domain, split: Split, rows: Rows) -> NDArray[np.uint8]:
        progress = partial(self.progress, f"Reading {domain.title}")
        images: ImageSource = split.images
        if isinstance(images, FileImages):
            images, rows = decode_files(images, rows, self.scratch, max(1, self.config.threads), progress)
        return read_images(images, rows, self.shape, self.scratch, progress, cut=self.config.fit == "cut")


def common_shape(
    task: Task, source: DomainSplits, target: DomainSplits, image_size: int
) -> tuple[Shape, tuple[str, ...]]:
    """Return the task's shape for known digits, else that of the custom images; and notes on what is converted."""
    shape = task.shape
    if shape is None:
        custom = [split for side in (source, target) if side.domain.is_custom for split in side.splits]
        channels = max(split.images.shape[2] for split in custom)
        first = custom[0].images.shape
        for split in custom[1:]:
            other = split.images.shape
            if other[:2] != first[:2] and not image_size:
                raise InputError(
                    f"{split.origin}: images are {other[0]}×{other[1]}, those of {custom[0].origin} "
                    f"{first[0]}×{first[1]}; set image_size to resize all of them"
                )
        shape = (*first[:2], channels)
    if image_size:
        shape = (image_size, image_size, shape[2])
    for split in (*source.splits, *target.splits):
        if not can_convert(split.images.shape[2], shape[2]):
            raise InputError(
                f"{split.origin}: images have {split.images.shape[2]} channels, the task's have {shape[2]}; "
                "only grey (1) and colour (3) can be combined"
            )
    notes = []
    for side in (source, target):
        old, title = side.train.images.shape, side.domain.title
        if side.domain.is_custom and old[:2] != shape[:2]:
            notes.append(f"{title}: resized from {old[0]}×{old[1]} to {shape[0]}×{shape[1]}")
        if side.domain.is_custom and old[2] != shape[2]:
            notes.append(f"{title}: grey images given three equal colours")
    return shape, tuple(notes)
