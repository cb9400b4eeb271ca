"""Images in folders, one folder for each class."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from core.data.decoded_cache import find_cached, read_or_make
from core.data.images import FileImages, open_image, upright_size
from core.data.splits import Split
from core.data.task_data import Shape
from core.errors import InputError

SUFFIXES = {".png", ".jpg", ".jpeg"}
DEFAULT_SIZE = 224
"""Height and width of images that differ in size, unless image_size is set."""
REPORT_EVERY = 64
"""Files between two reports of progress."""
SHAPE_TYPE = np.dtype("<i4")
"""How the three numbers of a shape are kept."""
Progress = Callable[[int, int], None]
GREY_MODES = {"1", "L", "LA", "La", "I", "I;16", "I;16B", "I;16L", "F"}


@dataclass(frozen=True)
class FolderListing:
    """The image files under one folder and the class of each; no classes if they lie in the folder itself."""

    folder: Path
    paths: tuple[Path, ...]
    y: tuple[int, ...]
    names: tuple[str, ...] | None

    def to_split(self, shape: Shape, *, cut: bool = False) -> Split:
        images = FileImages(self.paths, shape, cut)
        return Split(str(self.folder), images, np.array(self.y, dtype=np.int64), None, self.names)


def list_folder(folder: Path) -> FolderListing:
    """List the images of every class folder; without class folders, list unlabelled images."""
    class_folders = sorted((path for path in _visible(folder) if path.is_dir()), key=lambda path: _sort_key(path.name))
    if not class_folders:
        unlabelled = _image_files(folder)
        if not unlabelled:
            raise InputError(f"{folder}: contains no images (png, jpg, jpeg), neither directly nor in class folders")
        return FolderListing(folder, unlabelled, (-1,) * len(unlabelled), None)
    paths: list[Path] = []
    labels: list[int] = []
    for number, class_folder in enumerate(class_folders):
        files = _image_files(class_folder)
        paths += files
        labels += [number] * len(files)
    if not paths:
        raise InputError(f"{folder}: its folders contain no images (png, jpg, jpeg){_nested_hint(class_folders)}")
    return FolderListing(folder, tuple(paths), tuple(labels), tuple(path.name for path in class_folders))


def pictures_below(folder: Path) -> Iterator[Path]:
    """Yield the image files in a folder and its folders, in order, without following links to other folders."""
    for directory, names, files in os.walk(folder):
        names[:] = sorted(name for name in names if not name.startswith("."))
        for name in sorted(files):
            path = Path(directory, name)
            if not name.startswith(".") and path.suffix.lower() in SUFFIXES and path.is_file():
                yield path


def sort_class_names(names: Sequence[str]) -> tuple[str, ...]:
    """Sort numbers by value, before other names in alphabetical order."""
    return tuple(sorted(names, key=_sort_key))


def folder_shape(
    listings: Sequence[FolderListing],
    image_size: int,
    *,
    cut: bool = False,
    cache: Path | None = None,
    progress: Progress = lambda done, total: None,
) -> tuple[Shape, str | None]:
    """Return the shape that all images are decoded to, and a note if that resizes them."""
    paths = [path for listing in listings for path in listing.paths]
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


def _image_files(folder: Path) -> tuple[Path, ...]:
    return tuple(sorted(path for path in _visible(folder) if path.suffix.lower() in SUFFIXES and path.is_file()))


def _visible(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if not path.name.startswith((".", "__"))]


def _sort_key(name: str) -> tuple[int, int, str]:
    return (0, int(name), name) if name.isdecimal() else (1, 0, name)


def _nested_hint(class_folders: Sequence[Path]) -> str:
    """Return a hint for layouts such as Office-31, which has its classes one folder down."""
    inner = next((path for path in class_folders if any(child.is_dir() for child in _visible(path))), None)
    return f"; if the classes are in {inner}, name that folder" if inner else ""
