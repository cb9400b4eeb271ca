"""Custom data: one .npz file, or a folder with train.npz, train/<class>/ or just <class>/, and test likewise."""

from functools import partial
from pathlib import Path

from core.data.image_folders import FolderListing, folder_shape, list_folder
from core.data.images import ProgressCallback
from core.data.npz import read_arrays
from core.data.scratch import Scratch
from core.data.splits import DomainSplits, Split
from core.errors import InputError
from core.tasks import Domain


def read_custom_domain(
    domain: Domain, image_size: int, scratch: Scratch, progress: ProgressCallback, *, cut: bool = False
) -> DomainSplits:
    """Read the training images and, if the folder separates them, the test images."""
    folder = domain.folder
    if folder is not None and folder.is_file():
        return DomainSplits(domain.name, domain.title, read_arrays(folder, scratch), None, folder=str(folder))
    if folder is None or not folder.is_dir():
        raise InputError(f"{folder}: no such directory")
    train, test = _read_split(folder, "train", scratch), _read_split(folder, "test", scratch)
    if train is None and test is not None:
        raise InputError(f"{folder}: has test images but no training images; add train.npz or train/<class>/")
    parts = [part for part in (train or list_folder(folder), test) if part is not None]
    listings = [part for part in parts if isinstance(part, FolderListing)]
    notes = []
    if listings:
        count = partial(progress, f"Reading sizes of {domain.title}")
        shape, note = folder_shape(listings, image_size, cut=cut, cache=scratch.cache_folder(), progress=count)
        if note:
            notes.append(f"{domain.title}: {note}")
    splits: list[Split] = [part.to_split(shape, cut=cut) if isinstance(part, FolderListing) else part for part in parts]
    return DomainSplits(
        domain.name,
        domain.title,
        splits[0],
        splits[1] if test is not None else None,
        folder=str(folder),
        notes=tuple(notes),
    )


def _read_split(folder: Path, name: str, scratch: Scratch) -> Split | FolderListing | None:
    arrays = folder / f"{name}.npz"
    if arrays.exists():
        return read_arrays(arrays, scratch)
    if (folder / name).is_dir():
        return list_folder(folder / name)
    return None
