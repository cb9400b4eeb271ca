"""The one shape that the images of both domains are converted to."""

from core.data.images import can_convert
from core.data.splits import DomainSplits, Split
from core.data.task_data import Shape
from core.errors import InputError
from core.tasks import Task


def common_shape(
    task: Task, source: DomainSplits, target: DomainSplits, image_size: int
) -> tuple[Shape, tuple[str, ...]]:
    """Return the task's shape for known digits, else that of the custom images; and notes on what is converted."""
    shape = task.shape
    if shape is None:
        custom = [split for domain in (source, target) if domain.is_custom for split in domain.splits]
        channels = max(split.images.shape[2] for split in custom)
        shape = (*_common_size(custom, image_size), channels)
    if image_size:
        shape = (image_size, image_size, shape[2])
    for split in (*source.splits, *target.splits):
        if not can_convert(split.images.shape[2], shape[2]):
            raise InputError(
                f"{split.place}: images have {split.images.shape[2]} channels, the task's have {shape[2]}; "
                "only grey (1) and colour (3) can be combined"
            )
    return shape, tuple(note for domain in (source, target) if domain.is_custom for note in _notes(domain, shape))


def _common_size(splits: list[Split], image_size: int) -> tuple[int, int]:
    first = splits[0].images.shape
    for split in splits[1:]:
        shape = split.images.shape
        if shape[:2] != first[:2] and not image_size:
            raise InputError(
                f"{split.place}: images are {shape[0]}×{shape[1]}, those of {splits[0].place} "
                f"{first[0]}×{first[1]}; set image_size to resize all of them"
            )
    return first[:2]


def _notes(domain: DomainSplits, shape: Shape) -> list[str]:
    old = domain.train.images.shape
    notes = []
    if old[:2] != shape[:2]:
        notes.append(f"{domain.title}: resized from {old[0]}×{old[1]} to {shape[0]}×{shape[1]}")
    if old[2] != shape[2]:
        notes.append(f"{domain.title}: grey images given three equal colours")
    return notes
