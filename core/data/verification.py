"""Verify a digit domain: checksums, shapes, labels and counts."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from core.data.cache import Scratch
from core.data.digit_domains import (
    CLASSES,
    MNIST_RAW,
    PUBLISHED,
    DomainFiles,
    FileFormat,
    read_domain_files,
    require_files,
)
from core.data.download import downloads, md5_of
from core.data.labels import encode_labels
from core.data.synthetic import read_record
from core.errors import InputError
from core.tasks import DOMAINS_BY_NAME

MNIST_MD5 = {
    "train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
    "train-labels-idx1-ubyte": "a25bea736e30d166cdddb491f175f624",
    "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
    "t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
}
"""Checksums of the unpacked files; torchvision has only those of the packed ones."""
SAMPLE_SIZE = 64
"""Number of images of each split that are decoded."""


@dataclass(frozen=True)
class Finding:
    """One result of verifying a domain."""

    name: str
    verdict: Literal["good", "doubtful", "bad"]
    message: str


def verify_domain(name: str, data_dir: Path) -> list[Finding]:
    """Return all findings about one domain, up to the first bad one."""
    if name not in DOMAINS_BY_NAME:
        raise InputError(f'"{name}": no such domain; choose one of {", ".join(DOMAINS_BY_NAME)}')
    files = require_files(name, data_dir)
    findings = []
    if files.format is FileFormat.TORCHVISION:  # other files have no published checksums
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
    for split in (train, test):
        y, _ = encode_labels(split, CLASSES)
        if len(unknown := np.flatnonzero(y < 0)):
            raise InputError(f"{split.origin}: image {unknown[0]} has no label")
        if len(absent := np.flatnonzero(np.bincount(y, minlength=len(CLASSES)) == 0)):
            raise InputError(f"{split.origin}: has no image of digit {absent[0]}")
        split.images.read(np.arange(min(SAMPLE_SIZE, len(split))))
        shape, expected = split.images.shape, PUBLISHED[name].shape
        if shape[2] not in (1, 3):
            raise InputError(f"{split.origin}: images have {shape[2]} channels, not 1 or 3")
        if files.format is PUBLISHED[name].format and expected not in (None, shape):
            raise InputError(f"{split.origin}: images are {shape}, not {expected}")
    height, width, channels = train.images.shape
    summary = f"{len(train)} + {len(test)} images of {height}×{width}×{channels}, labels 0 to 9"
    if files.format is FileFormat.GENERATED:
        return Finding(name, "good", f"{summary}; {read_record(files.folder).description}")
    published = PUBLISHED[name].sizes
    if (len(train), len(test)) == published:
        return Finding(name, "good", f"{summary}, complete")
    return Finding(name, "doubtful", f"{summary}; published with {published[0]} + {published[1]}")
