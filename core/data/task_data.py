"""The data of a task: images with the known labels."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Shape = tuple[int, int, int]


@dataclass(frozen=True)
class ImageSet:
    """Images of one domain and the known labels of each."""

    x: NDArray[np.uint8]
    """(N, H, W, C); may be a memmap."""
    y: NDArray[np.int64]
    """(N,), -1 where the class is unknown."""
    ybar: NDArray[np.bool_] | None
    """(N, K), True at the classes known to be wrong; None if no complementary label was given."""

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True)
class TaskData:
    """Both domains of a task, with one shape and one list of classes."""

    source_train: ImageSet
    """`ybar` rules out at least one class of every image."""
    source_test: ImageSet | None
    target_train: ImageSet
    target_test: ImageSet
    """`target_train` itself if the target has no test images."""
    classes: tuple[str, ...]
    notes: tuple[str, ...]
    """Caveats for readers of the results: generated data, a transductive target, images left out."""

    @property
    def shape(self) -> Shape:
        height, width, channels = self.source_train.x.shape[1:]
        return (height, width, channels)
