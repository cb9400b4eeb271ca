"""Images in an .npz file: x, and optionally y, ybar and classes."""

import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.data.images import ArrayImages, is_one_image
from core.data.scratch import Scratch
from core.data.splits import MAX_CLASSES, Labels, Mask, Split
from core.errors import InputError

KEYS = ("x", "y", "ybar", "classes")
DAMAGE = (OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)
"""What reading an incomplete, damaged or encrypted archive raises."""


def read_arrays(path: Path, scratch: Scratch) -> Split:
    """Read and check the images and labels of one file."""
    arrays = _load(path, scratch)
    x = _check_images(path, arrays)
    count = len(x)
    names = _check_names(path, arrays["classes"]) if "classes" in arrays else None
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
                    if key == "x" and scratch.is_too_large(sizes["x.npy"]):
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
    if x.ndim not in (3, 4) or 0 in x.shape[1:]:
        raise InputError(f"{path}: x: expected (N, H, W) or (N, H, W, C), got {_format_shape(x)}")
    if is_one_image(x):
        raise InputError(f"{path}: x: expected (N, H, W) or (N, H, W, C), got {_format_shape(x)}; one image is x[None]")
    if len(x) == 0:
        raise InputError(f"{path}: x contains no images")
    if x.ndim == 4 and x.shape[1] in (1, 3) and x.shape[3] > 4:
        raise InputError(f"{path}: x: expected channels last, (N, H, W, C), got {_format_shape(x)}; transpose it")
    return x if x.ndim == 4 else x[..., None]


def _check_labels(path: Path, key: str, values: NDArray[Any], count: int) -> Labels:
    """Check one class number for each image, -1 where unknown."""
    _check_finite(path, key, values)
    if not np.issubdtype(values.dtype, np.integer):
        raise InputError(f"{path}: {key}: expected integers, -1 where unknown, got {values.dtype}")
    if values.shape != (count,):
        raise InputError(f"{path}: {key}: expected one label for each of {count} images, got {_format_shape(values)}")
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
        raise InputError(f"{path}: ybar: expected one row for each of {count} images, got {_format_shape(values)}")
    if not np.isin(values, (0, 1)).all():
        raise InputError(f"{path}: ybar: expected a mask (N, K) of 0 and 1, or one label an image (N,)")
    full = np.flatnonzero(values.all(axis=1))
    if len(full):
        raise InputError(f"{path}: ybar rules out every class of image {full[0]}; leave at least one")
    return values.astype(np.bool_)


def _check_names(path: Path, values: NDArray[Any]) -> tuple[str, ...]:
    if values.ndim != 1 or values.dtype.kind != "U":
        raise InputError(
            f"{path}: classes: expected a list of names (dtype str), got {values.dtype} {_format_shape(values)}"
        )
    names = tuple(str(name) for name in values)
    if len(set(names)) < len(names):
        duplicate = next(name for name in names if names.count(name) > 1)
        raise InputError(f'{path}: classes: "{duplicate}" occurs more than once; names must differ')
    return names


def _check_finite(path: Path, key: str, values: NDArray[Any]) -> None:
    if np.issubdtype(values.dtype, np.floating) and not np.isfinite(values).all():
        raise InputError(f"{path}: {key} contains values that are not finite; use -1 where a label is unknown")


def _format_shape(values: NDArray[Any]) -> str:
    return "(" + ", ".join(str(size) for size in values.shape) + ("," if values.ndim == 1 else "") + ")"
