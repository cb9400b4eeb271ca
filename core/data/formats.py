"""In which form a known domain lies in the data folder: as published, as arrays, or made."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Kind = Literal["torchvision", "release", "original", "arrays", "made", "bundled"]

SPLITS = ("train", "test")
GENERATED_FILES = ("made-train.npz", "made-test.npz", "made.json")
MNIST_RAW = Path("MNIST", "raw")
MNIST_FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
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
"""How many training and test images each domain was published with; UCI's digits in our own fixed split."""

GET_COMMANDS = {
    "mnist": "clarinet data fetch mnist",
    "usps": "clarinet data fetch usps",
    "svhn": "clarinet data fetch svhn",
    "mnistm": "clarinet data make mnistm",
    "synth": "clarinet data make synth",
}
"""The line that brings a missing domain."""


@dataclass(frozen=True)
class DomainFiles:
    """A domain that is there: its kind, and the folder that its files are in."""

    format: Kind
    folder: Path

    @property
    def is_generated(self) -> bool:
        return self.format == "made"


def find_domain_files(name: str, data_dir: Path) -> DomainFiles | None:
    """The best form that is there: what was published before arrays, arrays before what was made."""
    if name == "digits" and not _has(data_dir / name, "train.npz"):
        return DomainFiles("bundled", data_dir / name)
    home = data_dir / name
    published: dict[str, tuple[Kind, tuple[Path, ...], tuple[str, ...]]] = {
        "mnist": ("torchvision", (home / MNIST_RAW,), MNIST_FILES),
        "usps": ("torchvision", (home,), USPS_FILES),
        "svhn": ("torchvision", (home,), SVHN_FILES),
        "mnistm": ("release", (home, home / "mnist_m"), MNISTM_FILES),
        "synth": ("original", (home,), SYNTH_FILES),
    }
    if name in published:
        kind, folders, files = published[name]
        for folder in folders:
            if _has(folder, *files):
                return DomainFiles(kind, folder)
    if _has(home, "train.npz"):
        return DomainFiles("arrays", home)
    return DomainFiles("made", home) if _has(home, *GENERATED_FILES) else None


def _has(folder: Path, *files: str) -> bool:
    return all((folder / file).is_file() for file in files)
