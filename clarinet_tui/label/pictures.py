"""The pictures of a folder that are labelled."""

from pathlib import Path

from core.data.image_folders import pictures_below
from core.errors import InputError


def find_pictures(folder: Path) -> list[str]:
    """Return the paths of all pictures below the folder, relative to it."""
    if not folder.is_dir():
        raise InputError(f"{folder}: is not a directory")
    found = [str(path.relative_to(folder)) for path in pictures_below(folder)]
    if not found:
        raise InputError(f"{folder}: contains no images (png, jpg, jpeg)")
    return found
