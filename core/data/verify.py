"""Whether the data that is there is what it should be."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from core.data.classes import encode_labels
from core.data.digit_domains import CLASSES, missing_domain_error, read_domain_files
from core.data.formats import MNIST_RAW, PUBLISHED_SIZES, DomainFiles, find_domain_files
from core.data.generated import read_record
from core.data.scratch import Scratch
from core.data.splits import Split
from core.errors import InputError
from core.tasks import BY_NAME

Verdict = Literal["good", "doubtful", "bad"]
MNIST_MD5 = {
    "train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
    "train-labels-idx1-ubyte": "a25bea736e30d166cdddb491f175f624",
    "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
    "t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
}
"""Checksums of MNIST as it is read; torchvision only knows those of the packed files."""
SIDES = {"mnist": (28, 28, 1), "usps": (16, 16, 1), "svhn": (32, 32, 3), "synth": (32, 32, 3), "digits": (8, 8, 1)}
SAMPLE = 64
"""Images of a folder that are decoded to check it."""


@dataclass(frozen=True)
class Finding:
    """One sentence on one domain."""

    name: str
    verdict: Verdict
    message: str


def verify_domain(name: str, data_dir: Path) -> list[Finding]:
    """All that there is to say of one domain; the first finding that is bad ends the search."""
    if name not in BY_NAME:
        raise InputError(f'"{name}": no such domain; there are {", ".join(BY_NAME)}')
    form = find_domain_files(name, data_dir)
    if form is None:
        raise missing_domain_error(name, data_dir)
    findings = list(_checksums(name, data_dir, form))
    try:
        findings += _content(name, data_dir, form)
    except InputError as error:
        findings.append(Finding(name, "bad", str(error)))
    return findings


def _checksums(name: str, data_dir: Path, form: DomainFiles) -> Iterator[Finding]:
    """torchvision's files byte for byte; others have no published checksum."""
    if form.format != "torchvision":
        return
    from core.data.download import downloads, md5_of

    if name == "mnist":
        expected = {data_dir / name / MNIST_RAW / file: md5 for file, md5 in MNIST_MD5.items()}
    else:
        expected = {download.path: download.md5 for download in downloads(name, data_dir)}
    for path, md5 in expected.items():
        if md5_of(path) != md5:
            yield Finding(name, "doubtful", f"{path}: its checksum is not that of the published file")


def _content(name: str, data_dir: Path, form: DomainFiles) -> Iterator[Finding]:
    """Shapes, labels and counts."""
    train, test = read_domain_files(name, form, Scratch(data_dir, float("inf")))
    counts = (len(train), len(test))
    for part in (train, test):
        _check_labels(part)
        part.images.read(np.arange(min(SAMPLE, len(part))))
        shape = part.images.shape
        if shape[2] not in (1, 3):
            raise InputError(f"{part.place}: its images have {shape[2]} channels, not 1 or 3")
        if form.format in ("torchvision", "original", "bundled") and shape != SIDES[name]:
            raise InputError(f"{part.place}: its images are {shape}, not {SIDES[name]}")
    height, width, channels = train.images.shape
    of = f"{counts[0]} + {counts[1]} images of {height}×{width}×{channels}, labels 0 to 9"
    if form.is_generated:
        yield Finding(name, "good", f"{of}; {read_record(form.folder).description}")
    elif counts == PUBLISHED_SIZES[name]:
        yield Finding(name, "good", f"{of}, complete")
    else:
        published = PUBLISHED_SIZES[name]
        yield Finding(name, "doubtful", f"{of}; published with {published[0]} + {published[1]}")


def _check_labels(part: Split) -> None:
    y = encode_labels(part, CLASSES).y
    unknown = np.flatnonzero(y < 0)
    if len(unknown):
        raise InputError(f"{part.place}: image {unknown[0]} has no label")
    absent = np.flatnonzero(np.bincount(y, minlength=len(CLASSES)) == 0)
    if len(absent):
        raise InputError(f"{part.place}: there is no image of digit {absent[0]}")
