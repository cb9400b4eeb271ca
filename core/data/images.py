"""Images in an array or in files: reading, decoding and converting them to one shape."""

import os
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from core.data.cache import Scratch, find_cached, read_or_make
from core.errors import InputError
from core.tasks import Shape

if TYPE_CHECKING:
    from PIL.Image import Image

ProgressCallback = Callable[[str, int, int], None]
"""Called with what is done, how much of it is done and the total."""
Progress = Callable[[int, int], None]
"""Called with how many images are done and their total."""
Rows = NDArray[np.int64]
BATCH_BYTES = 2**23
LUMA = (0.299, 0.587, 0.114)
"""ITU-R 601: the brightness of red, green and blue."""
PICTURE_SUFFIXES = {".png", ".jpg", ".jpeg"}
ORIENTATION = 0x0112
"""The tag of the camera's rotation."""
FEW = 4
"""Fewer than a fourth of the files are decoded alone and not kept."""
REPORT_EVERY = 16
"""Images between two reports of progress."""


@dataclass(frozen=True)
class ArrayImages:
    """Images in an array (N, H, W, C), in memory or memory-mapped."""

    x: NDArray[np.uint8]

    @property
    def shape(self) -> Shape:
        height, width, channels = self.x.shape[1:]
        return (height, width, channels)

    def __len__(self) -> int:
        return len(self.x)

    def read(self, rows: Rows) -> NDArray[np.uint8]:
        chosen: NDArray[np.uint8] = self.x[rows]
        return chosen


@dataclass(frozen=True)
class FileImages:
    """Images in files, decoded and resized to one shape."""

    paths: Sequence[Path]
    shape: Shape
    cut: bool = False
    """Whether proportions are kept by cutting images at the centre, instead of stretching them."""

    def __len__(self) -> int:
        return len(self.paths)

    def read(self, rows: Rows) -> NDArray[np.uint8]:
        return np.stack([decode_image(self.paths[row], self.shape, cut=self.cut) for row in rows])


ImageSource = ArrayImages | FileImages
"""Images of one shape, read by index."""


@contextmanager
def open_image(path: Path) -> Iterator["Image"]:
    """Open a PNG or JPEG file; an unreadable or very large one is an InputError that names it.

    Pillow recognises files by content and would run Ghostscript on PostScript that is named .png.
    """
    from PIL import Image

    try:
        with Image.open(path, formats=("PNG", "JPEG")) as image:
            if image.width * image.height > (Image.MAX_IMAGE_PIXELS or float("inf")):
                raise Image.DecompressionBombError  # Pillow itself only warns up to twice the limit
            yield image
    except (Image.DecompressionBombWarning, Image.DecompressionBombError):
        raise InputError(f"{path}: has more pixels than the {Image.MAX_IMAGE_PIXELS} that are read") from None
    except (OSError, SyntaxError, ValueError, EOFError, struct.error, zlib.error):
        raise InputError(f"{path}: cannot be read as an image; repair or remove it") from None


def decode_image(path: Path, shape: Shape, *, cut: bool = False) -> NDArray[np.uint8]:
    """Return one image file as (H, W, C), turned upright; stretched, or cut at the centre to keep proportions."""
    from PIL.Image import Resampling

    height, width, channels = shape
    image = read_picture(path, "L" if channels == 1 else "RGB")
    if image.size != (width, height):
        if cut:
            top, left, bottom, right = _centre(image.height, image.width, shape)
            image = image.crop((left, top, right, bottom))
        image = image.resize((width, height), Resampling.BILINEAR)
    return np.asarray(image, dtype=np.uint8).reshape(shape)


def read_picture(path: Path, mode: str = "RGB") -> "Image":
    """Return a PNG or JPEG file upright, in eight bits of grey (L) or colour (RGB)."""
    from PIL.Image import fromarray

    with open_image(path) as opened:
        image = _turn_upright(opened)
        if image.mode.startswith("I"):  # 16 bits, which Pillow clips at 255 instead of scaling them
            image = fromarray((np.asarray(image, dtype=np.int64) >> 8).clip(0, 255).astype(np.uint8))
        image.load()
        if image.mode == "P" and image.palette is None:
            raise ValueError("it has no palette")
        image.info.pop("transparency", None)  # changes no pixel; Pillow warns of tables of transparent colours
        return image.convert(mode)


def _centre(height: int, width: int, shape: Shape) -> tuple[int, int, int, int]:
    """Return top, left, bottom and right of the largest window at the centre with the proportions of `shape`."""
    scale = min(height / shape[0], width / shape[1])
    inner_height, inner_width = max(1, round(shape[0] * scale)), max(1, round(shape[1] * scale))
    top, left = (height - inner_height) // 2, (width - inner_width) // 2
    return top, left, top + inner_height, left + inner_width


def upright_size(path: Path, image: "Image") -> tuple[int, int]:
    """Return width and height after the rotation that the camera has recorded, without decoding if possible."""
    from PIL.Image import Image

    exif = image.getexif() if image.format == "PNG" and _has_late_tags(path) else Image.getexif(image)
    return (image.height, image.width) if exif.get(ORIENTATION) in (5, 6, 7, 8) else image.size


def _has_late_tags(path: Path) -> bool:
    """Return whether a PNG file has tags after its pixels; looking for some, Pillow decodes every PNG file."""
    has_pixels = False
    with path.open("rb") as file:
        file.seek(8)  # after the signature
        while len(header := file.read(8)) == 8:
            length, kind = int.from_bytes(header[:4]), header[4:]
            if has_pixels and kind in (b"eXIf", b"iTXt", b"tEXt", b"zTXt"):
                return True
            has_pixels |= kind == b"IDAT"
            file.seek(length + 4, os.SEEK_CUR)
    return False


def _turn_upright(image: "Image") -> "Image":
    """Undo the camera's rotation; ImageOps.exif_transpose also writes all tags again, and fails on unusual ones."""
    from PIL.Image import Transpose

    turns = {
        2: Transpose.FLIP_LEFT_RIGHT,
        3: Transpose.ROTATE_180,
        4: Transpose.FLIP_TOP_BOTTOM,
        5: Transpose.TRANSPOSE,
        6: Transpose.ROTATE_270,
        7: Transpose.TRANSVERSE,
        8: Transpose.ROTATE_90,
    }
    turn = turns.get(image.getexif().get(ORIENTATION, 1))
    return image if turn is None else image.transpose(turn)


def read_images(
    images: ImageSource, rows: Rows, shape: Shape, scratch: Scratch, progress: Progress, *, cut: bool = False
) -> NDArray[np.uint8]:
    """Return the chosen images in `shape`, read batch by batch; the array itself if nothing has to change."""
    if isinstance(images, ArrayImages) and len(rows) == len(images) and images.shape == shape:
        x = images.x
        if x.flags.c_contiguous and (isinstance(x, np.memmap) or x.nbytes <= scratch.limit):
            return x
    out = scratch.empty((len(rows), *shape))
    batch = max(1, BATCH_BYTES // int(np.prod(np.maximum(images.shape, shape))))
    for start in range(0, len(rows), batch):
        stop = min(start + batch, len(rows))
        out[start:stop] = convert_images(images.read(rows[start:stop]), shape, cut=cut)
        progress(stop, len(rows))
    return out


def is_one_image(x: NDArray[np.uint8]) -> bool:
    """Return whether an array (N, H, W) is rather one image (H, W, C): no network takes images of that width."""
    return x.ndim == 3 and x.shape[2] in (1, 3)


def can_convert(channels: int, new_channels: int) -> bool:
    """Return whether images can be converted to another number of channels."""
    return channels == new_channels or {channels, new_channels} == {1, 3}


def convert_images(x: NDArray[np.uint8], shape: Shape, *, cut: bool = False) -> NDArray[np.uint8]:
    """Convert a batch (N, H, W, C) to `shape`; it is resized while it has the fewest channels."""
    if cut:
        top, left, bottom, right = _centre(x.shape[1], x.shape[2], shape)
        x = x[:, top:bottom, left:right]
    if x.shape[3] == 3 and shape[2] == 1:
        x = np.rint(x.astype(np.float32) @ np.array(LUMA, dtype=np.float32)).astype(np.uint8)[..., None]
    x = resize(x, shape[0], shape[1])
    if x.shape[3] == 1 and shape[2] == 3:
        x = np.repeat(x, 3, axis=3)
    return x


def resize(x: NDArray[np.uint8], height: int, width: int) -> NDArray[np.uint8]:
    """Resize bilinearly, with the filter widened where images shrink, as Pillow does; two matrix products a batch."""
    count, old_height, old_width, channels = x.shape
    if (old_height, old_width) == (height, width):
        return x
    planes = np.ascontiguousarray(x.transpose(0, 3, 1, 2), dtype=np.float32)
    planes = planes.reshape(-1, old_width) @ _resize_weights(old_width, width).T
    planes = _resize_weights(old_height, height) @ planes.reshape(count * channels, old_height, width)
    resized = np.clip(np.rint(planes), 0, 255).astype(np.uint8)
    return np.ascontiguousarray(resized.reshape(count, channels, height, width).transpose(0, 2, 3, 1))


def _resize_weights(old: int, new: int) -> NDArray[np.float32]:
    """Return (new, old): the share of every old pixel in every new one."""
    scale = old / new
    radius = max(scale, 1.0)
    centre = (np.arange(new) + 0.5) * scale
    distance = np.abs(np.arange(old) + 0.5 - centre[:, None]) / radius
    weights = np.maximum(0.0, 1.0 - distance)
    normalised: NDArray[np.float32] = (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)
    return normalised


def decode_files(
    files: FileImages, rows: Rows, scratch: Scratch, threads: int, progress: Progress
) -> tuple[ArrayImages, Rows]:
    """Return images from which `rows`, as returned, are to be read: kept by another run, or decoded now and kept.

    Several threads decode: Pillow does it without Python's lock.
    """

    def decode_all(paths: Sequence[Path]) -> NDArray[np.uint8]:
        """Return all images in order; the first unreadable file is an InputError, and the rest is not read."""
        out = scratch.empty((len(paths), *files.shape))

        def decode(row: int) -> None:
            out[row] = decode_image(paths[row], files.shape, cut=files.cut)

        pool = ThreadPoolExecutor(threads, thread_name_prefix="decode")
        try:
            for done, _ in enumerate(pool.map(decode, range(len(paths))), 1):
                if done % REPORT_EVERY == 0 or done == len(paths):
                    progress(done, len(paths))
        finally:
            pool.shutdown(cancel_futures=True)
        return out

    cached = find_cached(files.paths, (files.shape, files.cut), (len(files), *files.shape), scratch.cache_folder())
    if cached and (kept := cached.read()) is not None:
        return ArrayImages(kept), rows
    if len(rows) * FEW < len(files):
        return ArrayImages(decode_all([files.paths[row] for row in rows])), np.arange(len(rows))
    return ArrayImages(read_or_make(cached, lambda: decode_all(files.paths))), rows
