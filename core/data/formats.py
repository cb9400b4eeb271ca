"""The files of the known domains in the data folder: as published, as arrays, or generated."""

import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

WRITE_BITS = 0o222
SPLITS = ("train", "test")
GENERATED_FILES = ("made-train.npz", "made-test.npz", "made.json")
MNIST_RAW = Path("MNIST", "raw")
MNIST_FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
USPS_FILES = ("usps.bz2", "usps.t.bz2")
SVHN_FILES = ("train_32x32.mat", "test_32x32.mat")
SYNTH_FILES = ("synth_train_32x32.mat", "synth_test_32x32.mat")
MNISTM_FILES = ("mnist_m_train_labels.txt", "mnist_m_test_labels.txt")

PUBLISHED_SIZES = {
    "mnist": (60000, 10000),
    "usps": (7291, 2007),
    "svhn": (73257, 26032),
    "mnistm": (59001, 9001),
    "synth": (479400, 9553),
    "digits": (1437, 360),
}
"""Published numbers of training and test images; UCI digits are in Clarinet's own fixed split."""

GET_COMMANDS = {
    "mnist": "clarinet data fetch mnist",
    "usps": "clarinet data fetch usps",
    "svhn": "clarinet data fetch svhn",
    "mnistm": "clarinet data make mnistm",
    "synth": "clarinet data make synth",
}
"""The command that gets a missing domain."""


class FileFormat(StrEnum):
    TORCHVISION = "torchvision"
    RELEASE = "release"
    """MNIST-M as its authors published it."""
    ORIGINAL = "original"
    """SYN-DIGITS as its authors published it."""
    ARRAYS = "arrays"
    """train.npz and test.npz."""
    GENERATED = "made"
    BUNDLED = "bundled"
    """UCI digits, which come with scikit-learn."""


@dataclass(frozen=True)
class DomainFiles:
    """The files of a domain that is present."""

    format: FileFormat
    folder: Path

    @property
    def is_generated(self) -> bool:
        return self.format is FileFormat.GENERATED


_PUBLISHED_FILES = {
    "mnist": (FileFormat.TORCHVISION, (MNIST_RAW,), MNIST_FILES),
    "usps": (FileFormat.TORCHVISION, (Path(),), USPS_FILES),
    "svhn": (FileFormat.TORCHVISION, (Path(),), SVHN_FILES),
    "mnistm": (FileFormat.RELEASE, (Path(), Path("mnist_m")), MNISTM_FILES),
    "synth": (FileFormat.ORIGINAL, (Path(),), SYNTH_FILES),
}
"""For each domain its format, the subfolders that may hold it, and its files."""


def find_domain_files(name: str, data_dir: Path) -> DomainFiles | None:
    """Return the best files present: published ones before arrays, arrays before generated ones."""
    home = data_dir / name
    if name == "digits" and not _has_files(home, "train.npz"):
        return DomainFiles(FileFormat.BUNDLED, home)
    if name in _PUBLISHED_FILES:
        file_format, subfolders, files = _PUBLISHED_FILES[name]
        for subfolder in subfolders:
            if _has_files(home / subfolder, *files):
                return DomainFiles(file_format, home / subfolder)
    if _has_files(home, "train.npz"):
        return DomainFiles(FileFormat.ARRAYS, home)
    return DomainFiles(FileFormat.GENERATED, home) if _has_files(home, *GENERATED_FILES) else None


def _has_files(folder: Path, *files: str) -> bool:
    return all((folder / file).is_file() for file in files)


def is_writable(folder: Path) -> bool:
    """Return whether files can be added; a folder marked read-only is respected even if the user is root."""
    existing = folder
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    return existing.is_dir() and bool(existing.stat().st_mode & WRITE_BITS) and os.access(existing, os.W_OK | os.X_OK)
