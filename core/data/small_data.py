"""Batch sizes for custom data with few images: presets are made for tens of thousands."""

import os
from pathlib import Path

from core.data.npz import count_images
from core.tasks import Domain, Task

MIN_BATCHES = 10
"""Batches that an epoch should have."""
MIN_SIZE = 8


def fit_batch_size(size: int, task: Task) -> int:
    """Return `size`, halved until an epoch of the task's custom data has enough batches and each domain fills one."""
    limit = size * MIN_BATCHES
    counts = [_count_images(domain, limit) for domain in (task.source, task.target) if domain.is_custom]
    known = [count for count in counts if count]
    if len(known) < len(counts):
        return size
    longest = max(known) if len(known) == 2 else limit
    while size // 2 >= MIN_SIZE and (longest // size < MIN_BATCHES or size > min(known)):
        size //= 2
    return size


def _count_images(domain: Domain, limit: int) -> int | None:
    """Return the number of training images, at most `limit`; None if it cannot be read."""
    folder = domain.folder
    if folder is None:
        return None
    arrays = folder / "train.npz" if folder.is_dir() else folder
    if arrays.is_file():
        return count_images(arrays)
    return _count_files(folder / "train" if (folder / "train").is_dir() else folder, limit)


def _count_files(folder: Path, limit: int) -> int | None:
    count = 0
    for _, _, files in os.walk(folder):
        count += sum(name.lower().endswith((".png", ".jpg", ".jpeg")) for name in files)
        if count >= limit:
            return limit
    return count or None
