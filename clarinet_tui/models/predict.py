"""Predict pictures, folders and arrays, one by one, without ending at an unreadable picture."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from core.data.cache import Scratch
from core.data.custom_domains import pictures_below, read_arrays
from core.data.images import PICTURE_SUFFIXES, ProgressCallback
from core.errors import InputError
from core.models.model import Model, Prediction, check_regular

PICTURES_AT_ONCE = 64
MEMORY = 4 << 30
"""Bytes of an array that are kept in memory; a larger one is unpacked into a temporary file."""


@dataclass(frozen=True)
class Item:
    """A picture with its prediction, or with the reason why there is none."""

    name: str
    prediction: Prediction | None
    error: str = ""


def find_inputs(paths: Sequence[Path]) -> list[Path]:
    """Return pictures and .npz files in order; folders are searched, without following links to other folders."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            pictures = list(pictures_below(path))
            if not pictures:
                raise InputError(f"{path}: contains no images (png, jpg, jpeg)")
            found += pictures
        else:
            check_regular(path)
            if path.suffix.lower() not in (*PICTURE_SUFFIXES, ".npz"):
                raise InputError(f"{path}: expected a .png, .jpg or .npz file, or a directory")
            found.append(path)
    return found


def predict_all(model: Model, inputs: Sequence[Path], progress: ProgressCallback) -> Iterator[Item]:
    """Yield an item for each picture; `progress` counts inputs."""
    rest, done = iter(inputs), 0
    while chunk := list(islice(rest, PICTURES_AT_ONCE)):
        pictures = [path for path in chunk if path.suffix.lower() != ".npz"]
        yield from _predict_pictures(model, pictures)
        done += len(pictures)
        progress("Predicting", done, len(inputs))
        for path in (path for path in chunk if path.suffix.lower() == ".npz"):
            yield from _predict_arrays(model, path)
            done += 1
            progress("Predicting", done, len(inputs))


def _predict_pictures(model: Model, paths: Sequence[Path]) -> Iterator[Item]:
    images: list[NDArray[np.uint8]] = []
    errors: dict[Path, str] = {}
    for path in paths:
        try:
            check_regular(path)
            images.append(model.read_picture(path))
        except InputError as error:
            errors[path] = str(error)
    predictions = iter(model.predict(np.stack(images)) if images else [])
    for path in paths:
        yield Item(str(path), None, errors[path]) if path in errors else Item(str(path), next(predictions))


def _predict_arrays(model: Model, path: Path) -> Iterator[Item]:
    try:
        images = read_arrays(path, Scratch(path.parent, MEMORY)).images
        rows = np.arange(len(images))
        for start in range(0, len(rows), 1000):
            chosen = rows[start : start + 1000]
            for row, prediction in zip(chosen, model.predict(images.read(chosen)), strict=True):
                yield Item(f"{path}[{row}]", prediction)
    except InputError as error:
        yield Item(str(path), None, f"{path}: {str(error).removeprefix(f'{path}: ')}")
