"""Images in folders: one folder a class."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from core.data.image_sources import FileImages, open_image
from core.data.splits import Split
from core.data.task_data import Shape
from core.errors import InputError

SUFFIXES = {".png", ".jpg", ".jpeg"}
SIZE = 224
"""Height and width of pictures that differ in size, unless image_size says otherwise."""
GREY_MODES = {"1", "L", "LA", "La", "I", "I;16", "I;16B", "I;16L", "F"}


@dataclass(frozen=True)
class FolderListing:
    """The image files under one folder and the class of each; no classes where the pictures lie in it loose."""

    place: Path
    paths: tuple[Path, ...]
    y: tuple[int, ...]
    names: tuple[str, ...] | None

    def to_split(self, shape: Shape) -> Split:
        return Split(str(self.place), FileImages(self.paths, shape), np.array(self.y, dtype=np.int64), None, self.names)


def list_folder(folder: Path) -> FolderListing:
    """The pictures of every class folder; without class folders, loose pictures, whose class is unknown."""
    kinds = sorted((entry for entry in _visible(folder) if entry.is_dir()), key=lambda entry: _order(entry.name))
    if not kinds:
        loose = _pictures(folder)
        if not loose:
            raise InputError(f"{folder}: there are no images (png, jpg, jpeg) here, nor in folders named by class")
        return FolderListing(folder, loose, (-1,) * len(loose), None)
    paths: list[Path] = []
    labels: list[int] = []
    for number, kind in enumerate(kinds):
        found = _pictures(kind)
        paths += found
        labels += [number] * len(found)
    if not paths:
        raise InputError(f"{folder}: its folders hold no images (png, jpg, jpeg){_deeper(kinds)}")
    return FolderListing(folder, tuple(paths), tuple(labels), tuple(kind.name for kind in kinds))


def class_order(names: Sequence[str]) -> tuple[str, ...]:
    """Names in the order of their numbers, where they are numbers, and else of the alphabet."""
    return tuple(sorted(names, key=_order))


def folder_shape(listings: Sequence[FolderListing], image_size: int) -> tuple[Shape, str | None]:
    """The shape that all pictures are decoded to, and a note where that changes their size."""
    sizes: set[tuple[int, int]] = set()
    colour = False
    for listing in listings:
        for path in listing.paths:
            size, mode = _header(path)
            sizes.add(size)
            colour |= mode not in GREY_MODES
    channels = 3 if colour else 1
    if image_size or len(sizes) > 1:
        side = image_size or SIZE
        why = "image_size" if image_size else "the pictures differ in size"
        note = None if sizes == {(side, side)} else f"resized to {side}×{side} ({why})"
        return (side, side, channels), note
    ((width, height),) = sizes
    return (height, width, channels), None


def _header(path: Path) -> tuple[tuple[int, int], str]:
    with open_image(path) as picture:
        return picture.size, picture.mode


def _pictures(folder: Path) -> tuple[Path, ...]:
    return tuple(sorted(entry for entry in _visible(folder) if entry.suffix.lower() in SUFFIXES and entry.is_file()))


def _visible(folder: Path) -> list[Path]:
    return [entry for entry in folder.iterdir() if not entry.name.startswith((".", "__"))]


def _order(name: str) -> tuple[int, int, str]:
    return (0, int(name), name) if name.isdecimal() else (1, 0, name)


def _deeper(kinds: Sequence[Path]) -> str:
    """Office-31 keeps its classes one folder down."""
    inner = next((kind for kind in kinds if any(entry.is_dir() for entry in _visible(kind))), None)
    return f"; if the classes are in {inner}, name that folder" if inner else ""
