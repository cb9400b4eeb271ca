"""MNIST-M: its release, and its recipe: the absolute difference of a digit and a patch of a colour photograph."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from core.data.digit_files import Digits
from core.data.generated import GeneratedData, GenerationRecord
from core.data.image_folders import SUFFIXES
from core.data.images import FileImages, open_image
from core.data.splits import Split
from core.errors import InputError
from core.random_streams import stream_seed

RECIPE_VERSION = 1
SIDE = 28
Photograph = NDArray[np.uint8]


def read_release(folder: Path, split: str) -> Split:
    """Read mnist_m_train/ or mnist_m_test/ with its list of labels."""
    listing = folder / f"mnist_m_{split}_labels.txt"
    names: list[str] = []
    labels: list[int] = []
    for number, line in enumerate(listing.read_text().splitlines(), 1):
        fields = line.split()
        if not fields:
            continue
        if len(fields) != 2 or fields[1] not in set("0123456789"):
            raise InputError(f'{listing}: line {number}: expected "name.png 7", got "{line[:60]}"')
        names.append(fields[0])
        labels.append(int(fields[1]))
    if not names:
        raise InputError(f"{listing}: lists no images")
    paths = [folder / f"mnist_m_{split}" / name for name in names]
    return Split(str(listing), FileImages(paths, (32, 32, 3)), np.array(labels, dtype=np.int64))


def generate_mnistm(
    mnist: Sequence[Digits],
    seed: int,
    photos: Path | None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> GeneratedData:
    """Generate MNIST-M from MNIST's digits and the photographs of a folder, or scikit-learn's two."""
    photographs, origin = _read_photographs(photos)
    total = sum(len(y) for _, y in mnist)
    parts: list[Digits] = []
    for split, (x, y) in zip(("train", "test"), mnist, strict=True):
        before = sum(len(labels) for _, labels in parts)
        random = np.random.default_rng(stream_seed(seed, "mnistm", split))
        blended = blend(x, photographs, random, lambda done, before=before: progress(before + done, total))  # type: ignore[misc]
        parts.append((blended, y))
    return GeneratedData(
        parts[0], parts[1], GenerationRecord(RECIPE_VERSION, seed, len(parts[0][1]), len(parts[1][1]), origin)
    )


def blend(
    digits: NDArray[np.uint8],
    photographs: Sequence[Photograph],
    random: np.random.Generator,
    progress: Callable[[int], None],
) -> NDArray[np.uint8]:
    """Return |patch - digit| for each digit, with a random patch of a random photograph."""
    count = len(digits)
    choices = random.integers(len(photographs), size=count)
    corners = random.random((count, 2))
    patches = np.empty((count, SIDE, SIDE, 3), dtype=np.uint8)
    for row in range(count):
        photograph = photographs[choices[row]]
        top = int(corners[row, 0] * (photograph.shape[0] - SIDE + 1))
        left = int(corners[row, 1] * (photograph.shape[1] - SIDE + 1))
        patches[row] = photograph[top : top + SIDE, left : left + SIDE]
        if (row + 1) % 1000 == 0 or row + 1 == count:
            progress(row + 1)
    # Of two bytes, the larger minus the smaller: no wider type is needed.
    return np.maximum(patches, digits) - np.minimum(patches, digits)


def _read_photographs(folder: Path | None) -> tuple[list[Photograph], str]:
    """Return the photographs and their origin."""
    if folder is None:
        from sklearn.datasets import load_sample_images

        return list(load_sample_images().images), "scikit-learn's two sample photographs"
    if not folder.is_dir():
        raise InputError(f"{folder}: no such directory of photographs")
    paths = sorted(path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES and path.name[0] != ".")
    photographs = [photograph for photograph in map(_read_photograph, paths) if min(photograph.shape[:2]) >= SIDE]
    if not photographs:
        raise InputError(f"{folder}: contains no photographs (png, jpg, jpeg) of at least {SIDE}×{SIDE} pixels")
    return photographs, f"{len(photographs)} photographs of {folder.name}"


def _read_photograph(path: Path) -> Photograph:
    with open_image(path) as image:
        return np.asarray(image.convert("RGB"), dtype=np.uint8)
