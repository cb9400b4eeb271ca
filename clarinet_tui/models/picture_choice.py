"""Which pictures of a run's data are shown: samples of both domains, wrong and uncertain predictions."""

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from clarinet_tui.runs.inspection_file import Picture, PictureGroup
from core.data.images import convert_images
from core.data.task_data import ImageSet, TaskData

SAMPLES, MISTAKES = 8, 16
MAX_SIDE = 64
"""Pixels of the longer side."""
Rows = NDArray[np.int64]


def choose_pictures(data: TaskData, probabilities: NDArray[np.float32]) -> Iterator[Picture]:
    """Yield pictures group by group; `probabilities` are those of the target's test images."""
    target = data.target_test
    yield from choose_samples(data.source_train, "source", data.classes)
    predicted, confidence = probabilities.argmax(axis=1), probabilities.max(axis=1)
    wrong = np.flatnonzero((target.y >= 0) & (predicted != target.y))
    groups: dict[PictureGroup, Rows] = {
        "target": spread(len(target), SAMPLES),
        "wrong": wrong[np.argsort(-confidence[wrong], kind="stable")][:MISTAKES],
        "unsure": np.argsort(confidence, kind="stable")[:SAMPLES],
    }
    for group, rows in groups.items():
        for picture, row in zip(choose_samples(target, group, data.classes, rows), rows, strict=True):
            label, chance = data.classes[predicted[row]], float(confidence[row])
            yield msgspec.structs.replace(picture, predicted=label, probability=chance)


def spread(count: int, maximum: int) -> Rows:
    """Return at most `maximum` rows, evenly spread."""
    return np.unique(np.linspace(0, count - 1, min(count, maximum)).astype(np.int64))


def choose_samples(
    images: ImageSet, group: PictureGroup, classes: Sequence[str], rows: Rows | None = None
) -> Iterator[Picture]:
    """Yield these images, or a few of all, with their labels, without predictions."""
    rows = spread(len(images), SAMPLES) if rows is None else rows
    x = images.x[rows]
    height, width, channels = x.shape[1:]
    if channels not in (1, 3):
        x = x[..., :1]
    scale = min(1.0, MAX_SIDE / max(height, width))
    height, width = max(1, round(height * scale)), max(1, round(width * scale))
    for image, row in zip(convert_images(x, (height, width, 3)), rows, strict=True):
        y = int(images.y[row])
        wrong = [] if images.ybar is None else np.flatnonzero(images.ybar[row]).tolist()
        excluded = classes[wrong[0]] if wrong and group == "source" else ""
        yield Picture(group, height, width, image.tobytes(), "" if y < 0 or excluded else classes[y], excluded)
