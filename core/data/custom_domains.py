"""Custom data: one .npz file, or a folder with train.npz, train/<class>/ or just <class>/, and test likewise."""

import os
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.data.cache import Scratch, find_cached, read_or_make
from core.data.images import (
    PICTURE_SUFFIXES,
    ArrayImages,
    FileImages,
    Progress,
    ProgressCallback,
    is_one_image,
    open_image,
    upright_size,
)
from core.data.task_data import MAX_CLASSES, DomainSplits, Labels, Mask, Split
from core.errors import InputError
from core.tasks import Domain, Shape, Task

DEFAULT_SIZE = 224
"""Height and width of images that differ in size, unless image_size is set."""
REPORT_EVERY = 64
"""Files between two reports of progress."""
SHAPE_TYPE = np.dtype("<i4")
"""How the three numbers of a shape are kept."""
GREY_MODES = {"1", "L", "LA", "La", "I", "I;16", "I;16B", "I;16L", "F"}
UNKNOWN: Shape = (0, 0, 0)
"""The shape of images in files whose sizes were not read yet."""
MIN_BATCHES = 10
"""Batches that an epoch should have."""
MIN_BATCH_SIZE = 8


# -- images in folders, one folder for each class --------------------------------------------------------------------


def list_folder(folder: Path) -> Split:
    """List the images of every class folder, or unlabelled ones without class folders; their shape is UNKNOWN yet."""
    class_folders = sorted((path for path in _visible(folder) if path.is_dir()), key=lambda path: _sort_key(path.name))
    if not class_folders:
        unlabelled = _image_files(folder)
        if not unlabelled:
            raise InputError(f"{folder}: contains no images (png, jpg, jpeg), neither directly nor in class folders")
        return Split(str(folder), FileImages(unlabelled, UNKNOWN), np.full(len(unlabelled), -1, dtype=np.int64))
    files = [_image_files(folder) for folder in class_folders]
    paths = list(chain.from_iterable(files))
    if not paths:
        # Layouts such as Office-31 have their classes one folder down.
        inner = next((path for path in class_folders if any(child.is_dir() for child in _visible(path))), None)
        hint = f"; if the classes are in {inner}, name that folder" if inner else ""
        raise InputError(f"{folder}: its folders contain no images (png, jpg, jpeg){hint}")
    names = tuple(path.name for path in class_folders)
    labels = np.repeat(np.arange(len(files)), [len(found) for found in files])
    return Split(str(folder), FileImages(paths, UNKNOWN), labels, None, names)


def pictures_below(folder: Path) -> Iterator[Path]:
    """Yield the image files in a folder and its folders, in order, without following links to other folders."""
    for directory, names, files in os.walk(folder):
        names[:] = sorted(name for name in names if not name.startswith("."))
        for name in sorted(files):
            path = Path(directory, name)
            if not name.startswith(".") and path.suffix.lower() in PICTURE_SUFFIXES and path.is_file():
                yield path


def sort_class_names(names: Sequence[str]) -> tuple[str, ...]:
    """Sort numbers by value, before other names in alphabetical order."""
    return tuple(sorted(names, key=_sort_key))


def folder_shape(
    paths: Sequence[Path],
    image_size: int,
    *,
    cut: bool = False,
    cache: Path | None = None,
    progress: Progress = lambda done, total: None,
) -> tuple[Shape, str | None]:
    """Return the shape that all images are decoded to, and a note if that resizes them."""
    cached = find_cached(paths, ("shape",), (3 * SHAPE_TYPE.itemsize,), cache)
    kept = read_or_make(cached, lambda: np.array(_read_shape(paths, progress), SHAPE_TYPE).view(np.uint8))
    height, width, channels = kept.view(SHAPE_TYPE).tolist()
    if image_size or not width:
        side = image_size or DEFAULT_SIZE
        reason = "image_size" if image_size else "the pictures differ in size"
        action = "cut and resized" if cut else "resized"
        note = None if (height, width) == (side, side) else f"{action} to {side}×{side} ({reason})"
        return (side, side, channels), note
    return (height, width, channels), None


def _read_shape(paths: Sequence[Path], progress: Progress) -> Shape:
    """Return the shape of all images from their headers, with height and width 0 if they differ in size."""
    sizes: set[tuple[int, int]] = set()
    has_colour = False
    for done, path in enumerate(paths, 1):
        with open_image(path) as image:
            sizes.add(upright_size(path, image))
            has_colour |= image.mode not in GREY_MODES
        if done % REPORT_EVERY == 0 or done == len(paths):
            progress(done, len(paths))
    width, height = sizes.pop() if len(sizes) == 1 else (0, 0)
    return height, width, 3 if has_colour else 1


def _image_files(folder: Path) -> list[Path]:
    return sorted(path for path in _visible(folder) if path.suffix.lower() in PICTURE_SUFFIXES and path.is_file())


def _visible(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if not path.name.startswith((".", "__"))]


def _sort_key(name: str) -> tuple[int, int, str]:
    return (0, int(name), name) if name.isdecimal() else (1, 0, name)


# -- images in an .npz file: x, and optionally y, ybar and classes --------------------------------------------------

KEYS = ("x", "y", "ybar", "classes")
DAMAGE = (OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)
"""What reading an incomplete, damaged or encrypted archive raises."""


def read_arrays(path: Path, scratch: Scratch) -> Split:
    """Read and check the images and labels of one file."""
    arrays = _load(path, scratch)
    x = _check_images(path, arrays)
    count = len(x)
    names = None
    if "classes" in arrays:
        values = arrays["classes"]
        if values.ndim != 1 or values.dtype.kind != "U":
            got = f"{values.dtype} {values.shape}"
            raise InputError(f"{path}: classes: expected a list of names (dtype str), got {got}")
        names = tuple(str(name) for name in values)
        if len(set(names)) < len(names):
            duplicate = next(name for name in names if names.count(name) > 1)
            raise InputError(f'{path}: classes: "{duplicate}" occurs more than once; names must differ')
    y = _check_labels(path, "y", arrays["y"], count) if "y" in arrays else np.full(count, -1, dtype=np.int64)
    ybar = _check_complementary(path, arrays["ybar"], count) if "ybar" in arrays else None
    return Split(str(path), ArrayImages(x), y, ybar, names)


def count_images(path: Path) -> int | None:
    """Return the number of images, from the header alone; None if that cannot be read."""
    if not path.is_file():
        return None
    try:
        with zipfile.ZipFile(path) as archive, archive.open("x.npy") as member:
            version = np.lib.format.read_magic(member)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, _, _ = read(member)
            return int(shape[0])
    except (*DAMAGE, KeyError, ValueError, IndexError):
        return None


def _load(path: Path, scratch: Scratch) -> dict[str, NDArray[Any]]:
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: is not a regular file")  # reading a named pipe would wait for a writer
    try:
        with zipfile.ZipFile(path) as archive:
            sizes = {info.filename: info.file_size for info in archive.infolist()}
            arrays = {}
            for key in (key for key in KEYS if f"{key}.npy" in sizes):
                with archive.open(f"{key}.npy") as member:
                    if key == "x" and sizes["x.npy"] > scratch.limit:
                        arrays[key] = scratch.unpack(member)
                    else:
                        arrays[key] = np.lib.format.read_array(member, allow_pickle=False)
            return arrays
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (ValueError, MemoryError) as error:
        if "pickle" in str(error).lower() or "object" in str(error).lower():
            raise InputError(
                f"{path}: {key} is an array of Python objects, which is not read because it could run code; "
                "save plain numbers, and names as text (dtype str)"
            ) from None
        raise InputError(f"{path}: {key} cannot be read ({error})") from None
    except DAMAGE as error:
        raise InputError(f"{path}: is not a complete .npz file ({error}); save it with numpy.savez") from None


def _check_images(path: Path, arrays: Mapping[str, NDArray[Any]]) -> NDArray[np.uint8]:
    if "x" not in arrays:
        raise InputError(f"{path}: has no array x; save the images as x (N, H, W, C), uint8")
    x = arrays["x"]
    if x.dtype != np.uint8:
        raise InputError(f"{path}: x: expected uint8 pixels from 0 to 255, got {x.dtype}")
    if x.ndim not in (3, 4) or 0 in x.shape[1:] or is_one_image(x):
        hint = "; one image is x[None]" if is_one_image(x) else ""
        raise InputError(f"{path}: x: expected (N, H, W) or (N, H, W, C), got {x.shape}{hint}")
    if len(x) == 0:
        raise InputError(f"{path}: x contains no images")
    if x.ndim == 4 and x.shape[1] in (1, 3) and x.shape[3] > 4:
        raise InputError(f"{path}: x: expected channels last, (N, H, W, C), got {x.shape}; transpose it")
    return x if x.ndim == 4 else x[..., None]


def _check_labels(path: Path, key: str, values: NDArray[Any], count: int) -> Labels:
    """Check one class number for each image, -1 where unknown."""
    _check_finite(path, key, values)
    if not np.issubdtype(values.dtype, np.integer):
        raise InputError(f"{path}: {key}: expected integers, -1 where unknown, got {values.dtype}")
    if values.shape != (count,):
        raise InputError(f"{path}: {key}: expected one label for each of {count} images, got {values.shape}")
    labels = values.astype(np.int64)
    outside = np.flatnonzero((labels < -1) | (labels >= MAX_CLASSES) | ((labels < 0) & (values > 0)))  # beyond int64
    if len(outside):
        raise InputError(
            f"{path}: {key}: label {values[outside[0]]} of image {outside[0]} is out of range; classes count from 0 to "
            f"{MAX_CLASSES - 1}, and -1 means unknown"
        )
    return labels


def _check_complementary(path: Path, values: NDArray[Any], count: int) -> Labels | Mask:
    """Check one complementary label for each image, or a mask of the classes known to be wrong."""
    if values.ndim != 2:
        return _check_labels(path, "ybar", values, count)
    _check_finite(path, "ybar", values)
    if len(values) != count:
        raise InputError(f"{path}: ybar: expected one row for each of {count} images, got {values.shape}")
    if not np.isin(values, (0, 1)).all():
        raise InputError(f"{path}: ybar: expected a mask (N, K) of 0 and 1, or one label an image (N,)")
    full = np.flatnonzero(values.all(axis=1))
    if len(full):
        raise InputError(f"{path}: ybar rules out every class of image {full[0]}; leave at least one")
    return values.astype(np.bool_)


def _check_finite(path: Path, key: str, values: NDArray[Any]) -> None:
    if np.issubdtype(values.dtype, np.floating) and not np.isfinite(values).all():
        raise InputError(f"{path}: {key} contains values that are not finite; use -1 where a label is unknown")


# -- a domain -------------------------------------------------------------------------------------------------------


def read_custom_domain(
    domain: Domain, image_size: int, scratch: Scratch, progress: ProgressCallback, *, cut: bool = False
) -> DomainSplits:
    """Read the training images and, if the folder separates them, the test images."""
    folder = domain.folder
    if folder is not None and folder.is_file():
        return DomainSplits(domain, read_arrays(folder, scratch), None)
    if folder is None or not folder.is_dir():
        raise InputError(f"{folder}: no such directory")
    train, test = _read_split(folder, "train", scratch), _read_split(folder, "test", scratch)
    if train is None and test is not None:
        raise InputError(f"{folder}: has test images but no training images; add train.npz or train/<class>/")
    splits = [split for split in (list_folder(folder) if train is None else train, test) if split is not None]
    paths = [path for split in splits if isinstance(split.images, FileImages) for path in split.images.paths]
    note = None
    if paths:
        count = partial(progress, f"Reading sizes of {domain.title}")
        shape, note = folder_shape(paths, image_size, cut=cut, cache=scratch.cache_folder(), progress=count)
        splits = [
            replace(split, images=FileImages(split.images.paths, shape, cut))
            if isinstance(split.images, FileImages)
            else split
            for split in splits
        ]
    notes = (f"{domain.title}: {note}",) if note else ()
    return DomainSplits(domain, splits[0], splits[1] if test is not None else None, notes)


def _read_split(folder: Path, name: str, scratch: Scratch) -> Split | None:
    arrays = folder / f"{name}.npz"
    if arrays.exists():
        return read_arrays(arrays, scratch)
    if (folder / name).is_dir():
        return list_folder(folder / name)
    return None


def fit_batch_size(size: int, task: Task) -> int:
    """Return `size`, halved until an epoch of the task's custom data has enough batches and each domain fills one."""
    limit = size * MIN_BATCHES
    counts = [_count_images(domain.folder, limit) for domain in (task.source, task.target) if domain.folder]
    known = [count for count in counts if count]
    if len(known) < len(counts):
        return size
    longest = max(known) if len(known) == 2 else limit
    while size // 2 >= MIN_BATCH_SIZE and (longest // size < MIN_BATCHES or size > min(known)):
        size //= 2
    return size


def _count_images(folder: Path, limit: int) -> int | None:
    """Return the number of training images, at most `limit`; None if it cannot be read."""
    arrays = folder / "train.npz" if folder.is_dir() else folder
    if arrays.is_file():
        return count_images(arrays)
    count = 0
    for _, _, files in os.walk(folder / "train" if (folder / "train").is_dir() else folder):
        count += sum(Path(name).suffix.lower() in PICTURE_SUFFIXES for name in files)
        if count >= limit:
            return limit
    return count or None
