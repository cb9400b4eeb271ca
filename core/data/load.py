"""A task's data: both domains read, brought to one shape and one list of classes, and cut to the sizes asked for."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from core.config import RunConfig
from core.data.classes import EncodedLabels, check_source_classes, common_classes, encode_labels
from core.data.complementary_labels import complementary_mask
from core.data.custom_domains import read_custom_domain
from core.data.digit_domains import read_digit_domain, shuffle_split
from core.data.image_sources import ProgressCallback, read_images
from core.data.scratch import Scratch
from core.data.splits import DomainSplits, Split
from core.data.task_data import ImageSet, Shape, TaskData
from core.data.task_shape import common_shape
from core.errors import InputError
from core.random_streams import stream_seed
from core.resolve import data_seed
from core.tasks import Domain, parse_task

Rows = NDArray[np.int64]


def load_task(config: RunConfig, data_dir: Path, progress: Callable[[str, int, int], None] | None = None) -> TaskData:
    """Read the task that the settings name; `progress` hears what is done, how much of it and of how much."""
    task = parse_task(config.task)
    scratch = Scratch(data_dir, config.memory_limit_gb * 2**30)
    loader = _Loader(config, data_dir, scratch, progress or (lambda what, done, total: None))
    source, target = loader.read(task.source), loader.read(task.target)
    _check_labelled(source.train)
    classes = common_classes(source, target)
    shape, shape_notes = common_shape(task, source, target, config.image_size)
    train, dropped = loader.source_set(source, source.train, "train", classes, shape)
    source_test = None
    if source.test is not None:
        source_test, _ = loader.source_set(source, source.test, "test", classes, shape)
    target_train = loader.target_set(target, target.train, "train", classes, shape)
    target_test = (
        target_train if target.test is None else loader.target_set(target, target.test, "test", classes, shape)
    )
    notes = [*source.notes, *(note for note in target.notes if note not in source.notes), *shape_notes]
    if dropped:
        notes.append(f"{source.title}: {dropped} source images have no label of any kind and were left out")
    if target.test is None:
        notes.append(f"{target.title} has no test images: the target is measured on what it was trained on")
    return TaskData(train, source_test, target_train, target_test, classes, tuple(notes))


@dataclass(frozen=True)
class _Loader:
    config: RunConfig
    data_dir: Path
    scratch: Scratch
    progress: ProgressCallback

    def read(self, domain: Domain) -> DomainSplits:
        if domain.is_custom:
            return read_custom_domain(domain, self.config.image_size, self.scratch)
        parts = read_digit_domain(domain, self.data_dir, self.scratch, self.progress)
        return shuffle_split(parts) if domain.name == "usps" and self.config.usps_split == "80/20" else parts

    def source_set(
        self, domain: DomainSplits, part: Split, split: str, classes: tuple[str, ...], shape: Shape
    ) -> tuple[ImageSet, int]:
        """Images with complementary labels, drawn before any is left out, so that all budgets share them."""
        coded = encode_labels(part, classes)
        if split == "train":
            check_source_classes(part, coded, classes)
        mask = self._complementary(domain, coded, split, len(classes))
        rows = np.flatnonzero(mask.any(axis=1))
        dropped = len(part) - len(rows)
        if not len(rows):
            rows = np.arange(len(part))
        chosen = rows[self._subset(domain, split, len(rows), *self._source_budget(split))]
        x = self._gather(domain, part, chosen, shape)
        ybar = mask[chosen] if mask.any() else None
        return ImageSet(x, coded.y[chosen], ybar), dropped

    def target_set(
        self, domain: DomainSplits, part: Split, split: str, classes: tuple[str, ...], shape: Shape
    ) -> ImageSet:
        """Images whose labels only measure."""
        y = encode_labels(part, classes).y
        size = self.config.target_size if split == "train" else self.config.test_size
        chosen = self._subset(domain, split, len(part), size, 1.0)
        return ImageSet(self._gather(domain, part, chosen, shape), y[chosen], None)

    def _complementary(self, domain: DomainSplits, coded: EncodedLabels, split: str, classes: int) -> NDArray[np.bool_]:
        labels_only = ImageSet(np.empty((0, 1, 1, 1), dtype=np.uint8), coded.y, coded.ybar)
        seed = stream_seed(data_seed(self.config), "complementary labels", domain.name, split)
        return complementary_mask(labels_only, classes, self.config.ybars_per_sample, seed)

    def _source_budget(self, split: str) -> tuple[int, float]:
        if split == "train":
            return self.config.source_size, self.config.source_fraction
        return self.config.test_size, 1.0

    def _subset(self, domain: DomainSplits, split: str, count: int, size: int, fraction: float) -> Rows:
        """The first so many of one shuffled order, in their own order: a smaller subset is part of a larger one."""
        keep = min(size or count, count)
        keep = max(1, round(keep * fraction))
        if keep == count:
            return np.arange(count)
        seed = stream_seed(data_seed(self.config), "subset", domain.name, split)
        return np.sort(np.random.default_rng(seed).permutation(count)[:keep])

    def _gather(self, domain: DomainSplits, part: Split, rows: Rows, shape: Shape) -> NDArray[np.uint8]:
        title = f"Reading {domain.title}"
        return read_images(
            part.images, rows, shape, self.scratch, lambda done, total: self.progress(title, done, total)
        )


def _check_labelled(part: Split) -> None:
    given = part.ybar is not None and (part.ybar.any() if part.ybar.ndim == 2 else (part.ybar >= 0).any())
    if not given and not (part.y >= 0).any():
        raise InputError(f"{part.place}: the source has no labels; give complementary labels (ybar) or true ones (y)")
