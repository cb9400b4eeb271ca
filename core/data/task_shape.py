"""The one shape that the images of both domains are brought to."""

from core.data.shapes import can_convert
from core.data.splits import DomainSplits, Split
from core.data.task_data import Shape
from core.errors import InputError
from core.tasks import Task


def common_shape(
    task: Task, source: DomainSplits, target: DomainSplits, image_size: int
) -> tuple[Shape, tuple[str, ...]]:
    """The task's own shape for known digits, else that of one's own images; and a note on what had to change."""
    every = [part for domain in (source, target) for part in domain.splits]
    fixed = task.shape
    if fixed is None:
        own = [part for domain in (source, target) if domain.is_custom for part in domain.splits]
        fixed = (*_size(own, image_size), _channels(own))
    shape = (image_size, image_size, fixed[2]) if image_size else fixed
    for part in every:
        if not can_convert(part.images.shape[2], shape[2]):
            raise InputError(
                f"{part.place}: its images have {part.images.shape[2]} channels, the task's {shape[2]}; "
                "only grey (1) and colour (3) can be brought together"
            )
    return shape, tuple(note for domain in (source, target) if domain.is_custom for note in _notes(domain, shape))


def _size(own: list[Split], image_size: int) -> tuple[int, int]:
    first = own[0].images.shape
    for part in own[1:]:
        shape = part.images.shape
        if shape[:2] != first[:2] and not image_size:
            raise InputError(
                f"{part.place}: its images are {shape[0]}×{shape[1]}, those of {own[0].place} "
                f"{first[0]}×{first[1]}; set image_size to bring all to one size"
            )
    return first[:2]


def _channels(own: list[Split]) -> int:
    """Grey images go along with coloured ones."""
    return max(part.images.shape[2] for part in own)


def _notes(domain: DomainSplits, shape: Shape) -> list[str]:
    have = domain.train.images.shape
    notes = []
    if have[:2] != shape[:2]:
        notes.append(f"{domain.title}: resized from {have[0]}×{have[1]} to {shape[0]}×{shape[1]}")
    if have[2] != shape[2]:
        notes.append(f"{domain.title}: grey images given three equal colours")
    return notes
