"""Own data: one .npz file, or a folder with train.npz, train/<class>/ or just <class>/, and test likewise."""

from pathlib import Path

from core.data.image_folders import FolderListing, folder_shape, list_folder
from core.data.npz import read_arrays
from core.data.scratch import Scratch
from core.data.splits import DomainSplits, Split
from core.errors import InputError
from core.tasks import Domain


def read_custom_domain(domain: Domain, image_size: int, scratch: Scratch) -> DomainSplits:
    """The domain with its training images and, where the folder has them apart, its test images."""
    folder = domain.folder
    if folder is not None and folder.is_file():
        return DomainSplits(domain.name, domain.title, read_arrays(folder, scratch), None, folder=str(folder), notes=())
    if folder is None or not folder.is_dir():
        raise InputError(f"{folder}: there is no such folder")
    train, test = _split(folder, "train", scratch), _split(folder, "test", scratch)
    if train is None and test is not None:
        raise InputError(f"{folder}: there are test images but no training images; add train.npz or train/<class>/")
    found = [part for part in (train or list_folder(folder), test) if part is not None]
    listings = [part for part in found if isinstance(part, FolderListing)]
    notes = []
    if listings:
        shape, note = folder_shape(listings, image_size)
        if note:
            notes.append(f"{domain.title}: {note}")
    parts: list[Split] = [part.to_split(shape) if isinstance(part, FolderListing) else part for part in found]
    return DomainSplits(
        domain.name,
        domain.title,
        parts[0],
        parts[1] if test is not None else None,
        folder=str(folder),
        notes=tuple(notes),
    )


def _split(folder: Path, name: str, scratch: Scratch) -> Split | FolderListing | None:
    arrays = folder / f"{name}.npz"
    if arrays.exists():
        return read_arrays(arrays, scratch)
    if (folder / name).is_dir():
        return list_folder(folder / name)
    return None
