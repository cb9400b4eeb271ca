"""Which domains are there, in which form and how many images; and how to get those that are not."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from core.data.formats import (
    GET_COMMANDS,
    MNIST_FILES,
    MNISTM_FILES,
    PUBLISHED_SIZES,
    SYNTH_FILES,
    DomainFiles,
    find_domain_files,
)
from core.data.generated import TEST_FILE, TRAIN_FILE, read_record
from core.data.npz import count_images
from core.errors import InputError
from core.tasks import BY_NAME, Domain

FORMS = {
    "torchvision": "torchvision's files",
    "release": "the release",
    "original": "the original files",
    "arrays": "train.npz, test.npz",
    "made": "made here, not the published images",
    "bundled": "bundled with scikit-learn",
}


@dataclass(frozen=True)
class DomainEntry:
    """One domain as the listing shows it."""

    name: str
    letter: str
    title: str
    is_present: bool
    origin: str
    """Where it is from; empty where it is missing."""
    train: int | None
    test: int | None
    published: tuple[int, int]
    advice: str
    """What to type to get it; empty where there is nothing to do."""


def list_domains(data_dir: Path) -> tuple[DomainEntry, ...]:
    """Every domain, in the order of the paper's letters."""
    return tuple(_entry(domain, data_dir) for domain in BY_NAME.values())


def _entry(domain: Domain, data_dir: Path) -> DomainEntry:
    form = find_domain_files(domain.name, data_dir)
    train, test = (None, None) if form is None else _counts(domain.name, form)
    return DomainEntry(
        name=domain.name,
        letter=domain.letter,
        title=domain.title,
        is_present=form is not None,
        origin="" if form is None else _described(form),
        train=train,
        test=test,
        published=PUBLISHED_SIZES[domain.name],
        advice=_advice(domain.name, form),
    )


def _described(form: DomainFiles) -> str:
    if not form.is_generated:
        return FORMS[form.format]
    try:
        photographs = read_record(form.folder).photographs
    except InputError:
        return FORMS[form.format] + ", and its record is damaged"
    return FORMS[form.format] + (f" (from {photographs})" if photographs else "")


def _advice(name: str, form: DomainFiles | None) -> str:
    if form is not None:
        return ""
    advice = GET_COMMANDS[name]
    if name == "synth":
        return f"{advice} (or it is made when a run needs it)"
    if name == "mnistm":
        return f"{advice} (needs mnist), or put its release there"
    return advice


def _counts(name: str, form: DomainFiles) -> tuple[int | None, int | None]:
    """From headers and lists alone; files that must be unpacked to be counted are taken at their word."""
    folder = form.folder
    if form.format == "arrays":
        return count_images(folder / "train.npz"), count_images(folder / "test.npz")
    if form.format == "made":
        return count_images(folder / TRAIN_FILE), count_images(folder / TEST_FILE)
    if form.format == "release":
        return _lines(folder / MNISTM_FILES[0]), _lines(folder / MNISTM_FILES[1])
    if name == "mnist":
        return _idx_count(folder / MNIST_FILES[0]), _idx_count(folder / MNIST_FILES[2])
    if name == "synth":
        return _mat_count(folder / SYNTH_FILES[0]), _mat_count(folder / SYNTH_FILES[1])
    return PUBLISHED_SIZES[name]


def _lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for line in file if line.strip())


def _idx_count(path: Path) -> int | None:
    with path.open("rb") as file:
        header = np.frombuffer(file.read(8), dtype=">u4")
    return int(header[1]) if len(header) == 2 else None


def _mat_count(path: Path) -> int | None:
    from scipy.io import whosmat
    from scipy.io.matlab import MatReadError

    try:
        return next((int(shape[0]) for name, shape, _ in whosmat(path) if name == "y"), None)
    except (OSError, ValueError, TypeError, NotImplementedError, MatReadError):
        return None
