"""The known domains in the data folder: which are present, how to get the others, and whether their files are right."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from core.data.cache import Scratch
from core.data.custom_domains import count_images
from core.data.digit_domains import (
    CLASSES,
    GET_COMMANDS,
    MAT_DAMAGE,
    MNIST_FILES,
    MNIST_RAW,
    MNISTM_FILES,
    PUBLISHED_SIZES,
    SYNTH_FILES,
    DomainFiles,
    FileFormat,
    find_domain_files,
    missing_domain_error,
    read_domain_files,
)
from core.data.labels import encode_labels
from core.data.synthetic import TEST_FILE, TRAIN_FILE, read_record
from core.errors import InputError
from core.tasks import DOMAINS_BY_NAME

ORIGINS = {
    FileFormat.TORCHVISION: "torchvision files",
    FileFormat.RELEASE: "published release",
    FileFormat.ORIGINAL: "original files",
    FileFormat.ARRAYS: "train.npz, test.npz",
    FileFormat.GENERATED: "generated, not the published images",
    FileFormat.BUNDLED: "bundled with scikit-learn",
}
ADVICE = {"synth": " (or generated when a run needs it)", "mnistm": " (needs mnist), or put its release there"}
"""What to add to the command that gets a domain."""


@dataclass(frozen=True)
class DomainStatus:
    """One domain as `clarinet data list` shows it."""

    name: str
    letter: str
    title: str
    present: bool
    format: FileFormat | None
    origin: str
    """Where its files are from; empty if it is missing."""
    train: int | None
    test: int | None
    published: tuple[int, int]
    advice: str
    """The command that gets it; empty if it is present."""


def list_domains(data_dir: Path) -> tuple[DomainStatus, ...]:
    """Return every known domain, in the order of the paper's letters."""
    statuses = []
    for domain in DOMAINS_BY_NAME.values():
        files = find_domain_files(domain.name, data_dir)
        train, test = (None, None) if files is None else _count_splits(domain.name, files)
        origin = ORIGINS[files.format] if files else ""
        if files and files.is_generated:
            try:
                photographs = read_record(files.folder).photographs
                origin += f" (from {photographs})" if photographs else ""
            except InputError:
                origin += "; the record is damaged"
        statuses.append(
            DomainStatus(
                name=domain.name,
                letter=domain.letter,
                title=domain.title,
                present=files is not None,
                format=files.format if files else None,
                origin=origin,
                train=train,
                test=test,
                published=PUBLISHED_SIZES[domain.name],
                advice="" if files else GET_COMMANDS[domain.name] + ADVICE.get(domain.name, ""),
            )
        )
    return tuple(statuses)


def _count_splits(name: str, files: DomainFiles) -> tuple[int | None, int | None]:
    """Count images from headers and lists alone; files that would have to be unpacked are assumed complete."""
    folder = files.folder
    if files.format is FileFormat.ARRAYS:
        return count_images(folder / "train.npz"), count_images(folder / "test.npz")
    if files.format is FileFormat.GENERATED:
        return count_images(folder / TRAIN_FILE), count_images(folder / TEST_FILE)
    if files.format is FileFormat.RELEASE:
        return _count_lines(folder / MNISTM_FILES[0]), _count_lines(folder / MNISTM_FILES[1])
    if name == "mnist":
        return _count_idx(folder / MNIST_FILES[0]), _count_idx(folder / MNIST_FILES[2])
    if name == "synth":
        return _count_mat(folder / SYNTH_FILES[0]), _count_mat(folder / SYNTH_FILES[1])
    return PUBLISHED_SIZES[name]


def _count_lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for line in file if line.strip())


def _count_idx(path: Path) -> int | None:
    with path.open("rb") as file:
        header = file.read(8)
    return int.from_bytes(header[4:]) if len(header) == 8 else None


def _count_mat(path: Path) -> int | None:
    from scipy.io import whosmat
    from scipy.io.matlab import MatReadError

    try:
        return next((int(shape[0]) for name, shape, _ in whosmat(path) if name == "y"), None)
    except (*MAT_DAMAGE, MatReadError):
        return None


Verdict = Literal["good", "doubtful", "bad"]
MNIST_MD5 = {
    "train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
    "train-labels-idx1-ubyte": "a25bea736e30d166cdddb491f175f624",
    "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
    "t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
}
"""Checksums of the unpacked files; torchvision has only those of the packed ones."""
SHAPES = {"mnist": (28, 28, 1), "usps": (16, 16, 1), "svhn": (32, 32, 3), "synth": (32, 32, 3), "digits": (8, 8, 1)}
SAMPLE_SIZE = 64
"""Number of images of each split that are decoded."""


@dataclass(frozen=True)
class Finding:
    """One result of verifying a domain."""

    name: str
    verdict: Verdict
    message: str


def verify_domain(name: str, data_dir: Path) -> list[Finding]:
    """Return all findings about one domain, up to the first bad one."""
    if name not in DOMAINS_BY_NAME:
        raise InputError(f'"{name}": no such domain; choose one of {", ".join(DOMAINS_BY_NAME)}')
    files = find_domain_files(name, data_dir)
    if files is None:
        raise missing_domain_error(name, data_dir)
    findings = []
    if files.format is FileFormat.TORCHVISION:  # other files have no published checksums
        from core.data.download import downloads, md5_of

        if name == "mnist":
            expected = {data_dir / name / MNIST_RAW / file: md5 for file, md5 in MNIST_MD5.items()}
        else:
            expected = {download.path: download.md5 for download in downloads(name, data_dir)}
        for path, md5 in expected.items():
            if md5_of(path) != md5:
                findings.append(Finding(name, "doubtful", f"{path}: checksum differs from the published file"))
    try:
        findings.append(_check_content(name, data_dir, files))
    except InputError as error:
        findings.append(Finding(name, "bad", str(error)))
    return findings


def _check_content(name: str, data_dir: Path, files: DomainFiles) -> Finding:
    """Check shapes, labels and counts; a wrong shape or label is an InputError."""
    train, test = read_domain_files(name, files, Scratch(data_dir, float("inf")))
    counts = (len(train), len(test))
    for split in (train, test):
        y, _ = encode_labels(split, CLASSES)
        if len(unknown := np.flatnonzero(y < 0)):
            raise InputError(f"{split.origin}: image {unknown[0]} has no label")
        if len(absent := np.flatnonzero(np.bincount(y, minlength=len(CLASSES)) == 0)):
            raise InputError(f"{split.origin}: has no image of digit {absent[0]}")
        split.images.read(np.arange(min(SAMPLE_SIZE, len(split))))
        shape = split.images.shape
        if shape[2] not in (1, 3):
            raise InputError(f"{split.origin}: images have {shape[2]} channels, not 1 or 3")
        if files.format in (FileFormat.TORCHVISION, FileFormat.ORIGINAL, FileFormat.BUNDLED) and shape != SHAPES[name]:
            raise InputError(f"{split.origin}: images are {shape}, not {SHAPES[name]}")
    height, width, channels = train.images.shape
    summary = f"{counts[0]} + {counts[1]} images of {height}×{width}×{channels}, labels 0 to 9"
    if files.is_generated:
        return Finding(name, "good", f"{summary}; {read_record(files.folder).description}")
    published = PUBLISHED_SIZES[name]
    if counts == published:
        return Finding(name, "good", f"{summary}, complete")
    return Finding(name, "doubtful", f"{summary}; published with {published[0]} + {published[1]}")
