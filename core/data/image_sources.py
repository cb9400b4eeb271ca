"""Where images come from: an array, or files that are decoded when they are needed."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from core.data.scratch import Scratch
from core.data.shapes import convert_images
from core.data.task_data import Shape
from core.errors import InputError

if TYPE_CHECKING:
    from PIL.Image import Image

ProgressCallback = Callable[[str, int, int], None]
BATCH_BYTES = 2**23


class ImageSource(Protocol):
    """Images of one shape, read by their numbers."""

    @property
    def shape(self) -> Shape: ...

    def __len__(self) -> int: ...

    def read(self, rows: NDArray[np.int64]) -> NDArray[np.uint8]: ...


@dataclass(frozen=True)
class ArrayImages:
    """Images that are an array (N, H, W, C), in memory or mapped."""

    x: NDArray[np.uint8]

    @property
    def shape(self) -> Shape:
        height, width, channels = self.x.shape[1:]
        return (height, width, channels)

    def __len__(self) -> int:
        return len(self.x)

    def read(self, rows: NDArray[np.int64]) -> NDArray[np.uint8]:
        chosen: NDArray[np.uint8] = self.x[rows]
        return chosen


@dataclass(frozen=True)
class FileImages:
    """Images that are files, decoded and resized to one shape."""

    paths: Sequence[Path]
    shape: Shape

    def __len__(self) -> int:
        return len(self.paths)

    def read(self, rows: NDArray[np.int64]) -> NDArray[np.uint8]:
        return np.stack([decode_image(self.paths[row], self.shape) for row in rows])


@contextmanager
def open_image(path: Path) -> Iterator["Image"]:
    """An image file, or a sentence that names it."""
    from PIL import Image

    try:
        with Image.open(path) as picture:
            yield picture
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        raise InputError(f"{path}: this image cannot be read; mend it or take it out") from None


def decode_image(path: Path, shape: Shape) -> NDArray[np.uint8]:
    """One image file as (H, W, C)."""
    from PIL.Image import Resampling

    height, width, channels = shape
    with open_image(path) as opened:
        picture = _eight_bits(opened).convert("L" if channels == 1 else "RGB")
    if picture.size != (width, height):
        picture = picture.resize((width, height), Resampling.BILINEAR)
    return np.asarray(picture, dtype=np.uint8).reshape(shape)


def _eight_bits(picture: "Image") -> "Image":
    """Pillow cuts 16 bits off at 255 instead of scaling them."""
    from PIL import Image

    if not picture.mode.startswith("I"):
        return picture
    return Image.fromarray((np.asarray(picture, dtype=np.int64) >> 8).clip(0, 255).astype(np.uint8))


def read_images(
    images: ImageSource, rows: NDArray[np.int64], shape: Shape, scratch: Scratch, progress: Callable[[int, int], None]
) -> NDArray[np.uint8]:
    """The chosen images in the wanted shape, batch by batch; the array itself where nothing has to change."""
    if isinstance(images, ArrayImages) and len(rows) == len(images) and images.shape == shape:
        x = images.x
        if x.flags.c_contiguous and (isinstance(x, np.memmap) or not scratch.too_large(x.nbytes)):
            return x
    out = scratch.empty((len(rows), *shape))
    batch = max(1, BATCH_BYTES // int(np.prod(np.maximum(images.shape, shape))))
    for start in range(0, len(rows), batch):
        stop = min(start + batch, len(rows))
        out[start:stop] = convert_images(images.read(rows[start:stop]), shape)
        progress(stop, len(rows))
    return out
