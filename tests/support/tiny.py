"""A tiny task for tests: bright bars whose height is the class, shifted in the target."""

from typing import Any

import numpy as np

from core.config import RunConfig
from core.data.labels import draw_complementary
from core.data.task_data import ImageSet, TaskData
from core.events import Event, Stepped, flatten_event
from core.resolve import resolve
from tests.support.events import CLOCK_FIELDS

CLASSES = 4


def tiny_images(count: int, seed: int, shift: int = 0, labelled: bool = False) -> ImageSet:
    random = np.random.default_rng(seed)
    y = random.integers(0, CLASSES, count)
    x = random.integers(0, 60, (count, 28, 28, 1), dtype=np.uint8)
    for image, label in zip(x, y, strict=True):
        image[5 * label + shift : 5 * label + shift + 6, 4:20] += 150
    return ImageSet(x, y, draw_complementary(y, CLASSES, 1, seed) if labelled else None)


def tiny_data(source: int = 40, target: int = 56) -> TaskData:
    return TaskData(
        source_train=tiny_images(source, 1, labelled=True),
        source_test=tiny_images(20, 2, labelled=True),
        target_train=tiny_images(target, 3, shift=2),
        target_test=tiny_images(20, 4, shift=2),
        classes=tuple("abcd"),
        notes=(),
    )


def tiny_config(method: str = "clarinet", **settings: Any) -> RunConfig:
    base = {
        "task": "M->U",
        "preset": "smoke",
        "method": method,
        "batch_size": 8,
        "epoch_iterations": 0,
        "epochs": 2,
        "warmup_epochs": 1,
        "source_size": 0,
        "target_size": 0,
        "threads": 1,
        "stage1": {"epochs": 2, "batch_size": 8, "rate": 1e-3},
    }
    return resolve(base, **settings)


def repeatable(event: Event) -> dict[str, Any]:
    """Return the event's fields without those measured by a clock."""
    return {key: value for key, value in flatten_event(event).items() if key not in CLOCK_FIELDS}


def steps(events: list[Event]) -> list[Stepped]:
    return [event for event in events if isinstance(event, Stepped)]
