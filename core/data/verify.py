"""Verify the files of a known domain: checksums, shapes, labels and counts."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from core.data.classes import encode_labels
from core.data.digit_domains import CLASSES, missing_domain_error, read_domain_files
from core.data.formats import MNIST_RAW, PUBLISHED_SIZES, DomainFiles, FileFormat, find_domain_files
from core.data.generated import read_record
from core.data.scratch import Scratch
from core.data.splits import Split
from core.errors import InputError
from core.tasks import DOMAINS_BY_NAME

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
    findings = list(_check_checksums(name, data_dir, files))
    try:
        findings += _check_content(name, data_dir, files)
    except InputError as error:
        findings.append(Finding(name, "bad", str(error)))
    return findings


def _check_checksums(name: str, data_dir: Path, files: DomainFiles) -> Iterator[Finding]:
    """Compare the checksums of torchvision's files; other files have no published ones."""
    if files.format is not FileFormat.TORCHVISION:
        return
    from core.data.download import downloads, md5_of

    if name == "mnist":
        expected = {data_dir / name / MNIST_RAW / file: md5 for file, md5 in MNIST_MD5.items()}
    else:
        expected = {download.path: download.md5 for download in downloads(name, data_dir)}
    for path, md5 in expected.items():
        if md5_of(path) != md5:
            yield Finding(name, "doubtful", f"{path}: checksum differs from the published file")


def _check_content(name: str, data_dir: Path, files: DomainFiles) -> Iterator[Finding]:
    """Check shapes, labels and counts; a wrong shape or label is an InputError."""
    train, test = read_domain_files(name, files, Scratch(data_dir, float("inf")))
    counts = (len(train), len(test))
    for split in (train, test):
        _check_labels(split)
        split.images.read(np.arange(min(SAMPLE_SIZE, len(split))))
        shape = split.images.shape
        if shape[2] not in (1, 3):
            raise InputError(f"{split.place}: images have {shape[2]} channels, not 1 or 3")
        if files.format in (FileFormat.TORCHVISION, FileFormat.ORIGINAL, FileFormat.BUNDLED) and shape != SHAPES[name]:
            raise InputError(f"{split.place}: images are {shape}, not {SHAPES[name]}")
    height, width, channels = train.images.shape
    summary = f"{counts[0]} + {counts[1]} images of {height}×{width}×{channels}, labels 0 to 9"
    if files.is_generated:
        yield Finding(name, "good", f"{summary}; {read_record(files.folder).description}")
    elif counts == PUBLISHED_SIZES[name]:
        yield Finding(name, "good", f"{summary}, complete")
    else:
        published = PUBLISHED_SIZES[name]
        yield Finding(name, "doubtful", f"{summary}; published with {published[0]} + {published[1]}")


def _check_labels(split: Split) -> None:
    y = encode_labels(split, CLASSES).y
    unknown = np.flatnonzero(y < 0)
    if len(unknown):
        raise InputError(f"{split.place}: image {unknown[0]} has no label")
    absent = np.flatnonzero(np.bincount(y, minlength=len(CLASSES)) == 0)
    if len(absent):
        raise InputError(f"{split.place}: has no image of digit {absent[0]}")
