"""Images and labels: of a domain as it was read, and of a task, whose domains share a shape and classes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.data.images import ArrayImages, ImageSource
from core.tasks import Domain, Shape

Labels = NDArray[np.int64]
Mask = NDArray[np.bool_]
MAX_CLASSES = 100_000
MAX_NAME = 1000
"""Characters of a class's name."""


@dataclass(frozen=True)
class Split:
    """The training or the test images of a domain."""

    origin: str
    """The file or folder that errors name."""
    images: ImageSource
    y: Labels
    """Indices into `names`, -1 where unknown."""
    ybar: Labels | Mask | None = None
    """One complementary label an image, -1 where unknown, or a mask (N, K); None if the file has none."""
    names: tuple[str, ...] | None = None
    """The class names; None if the file has numbers only."""

    def __len__(self) -> int:
        return len(self.y)

    @property
    def label_count(self) -> int:
        """The number of classes that the labels themselves imply."""
        counts = [int(self.y.max(initial=-1)) + 1]
        if self.ybar is not None:
            counts.append(self.ybar.shape[1] if self.ybar.ndim == 2 else int(self.ybar.max(initial=-1)) + 1)
        return max(counts)


@dataclass(frozen=True)
class DomainSplits:
    """A domain's training images, its test images if it has any, and notes for the results."""

    domain: Domain
    train: Split
    test: Split | None
    notes: tuple[str, ...] = ()

    @property
    def origin(self) -> str:
        """The domain as errors name it: two folders may end in the same name."""
        return str(self.domain.folder or self.domain.title)

    @property
    def splits(self) -> tuple[Split, ...]:
        return (self.train,) if self.test is None else (self.train, self.test)


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
        return ArrayImages(self.source_train.x).shape
