"""Own data: one .npz file, or a folder with train.npz, train/<class>/ or just <class>/, and test likewise."""

from pathlib import Path

from core.data.image_folders import Listing, common_shape, list_folder
from core.data.npz import read_arrays
from core.data.scratch import Scratch
from core.data.splits import DomainParts, Part
from core.errors import InputError
from core.tasks import Domain


def read_own(domain: Domain, image_size: int, scratch: Scratch) -> DomainParts:
    """The domain with its training images and, where the folder has them apart, its test images."""
    folder = domain.folder
    if folder is not None and folder.is_file():
        return DomainParts(domain.name, domain.title, read_arrays(folder, scratch), None, folder=str(folder), notes=())
    if folder is None or not folder.is_dir():
        raise InputError(f"{folder}: there is no such folder")
    train, test = _split(folder, "train", scratch), _split(folder, "test", scratch)
    if train is None and test is not None:
        raise InputError(f"{folder}: there are test images but no training images; add train.npz or train/<class>/")
    found = [part for part in (train or list_folder(folder), test) if part is not None]
    listings = [part for part in found if isinstance(part, Listing)]
    notes = []
    if listings:
        shape, note = common_shape(listings, image_size)
        if note:
            notes.append(f"{domain.title}: {note}")
    parts: list[Part] = [part.part(shape) if isinstance(part, Listing) else part for part in found]
    return DomainParts(
        domain.name,
        domain.title,
        parts[0],
        parts[1] if test is not None else None,
        folder=str(folder),
        notes=tuple(notes),
    )


def _split(folder: Path, name: str, scratch: Scratch) -> Part | Listing | None:
    arrays = folder / f"{name}.npz"
    if arrays.exists():
        return read_arrays(arrays, scratch)
    if (folder / name).is_dir():
        return list_folder(folder / name)
    return None
