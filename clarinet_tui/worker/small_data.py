"""Tell the user of a training that is short because its data has few images."""

from core.config import RunConfig
from core.errors import InputError
from core.events import Started
from core.resolve import changed_settings

FEW_ITERATIONS = 100
FEW_BATCHES = 10


def describe_small_data(config: RunConfig, started: Started) -> str | None:
    """Return a notice about the batch size or the length of the training; None if both are usual."""
    if config.preset == "smoke":  # short by definition
        return None
    images = max(started.source_size, started.target_size)
    try:
        usual, size = changed_settings(config).get("batch_size", (0, 0))
    except InputError:
        usual, size = 0, 0
    if size < usual and images // usual < FEW_BATCHES:
        return f"batch_size is {size} instead of the preset's {usual}: the data has only {images} images"
    if started.iterations_total < FEW_ITERATIONS:
        total = started.iterations_total
        return f"the training has only {total} iterations for {images} images: lower batch_size or raise epochs"
    return None
