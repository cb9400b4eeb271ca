"""The list of known domains: which are present, how many images they have, and how to get missing ones."""

from dataclasses import dataclass
from pathlib import Path

from core.data.digit_files import MAT_DAMAGE
from core.data.formats import (
    GET_COMMANDS,
    MNIST_FILES,
    MNISTM_FILES,
    PUBLISHED_SIZES,
    SYNTH_FILES,
    DomainFiles,
    FileFormat,
    find_domain_files,
)
from core.data.generated import TEST_FILE, TRAIN_FILE, read_record
from core.data.npz import count_images
from core.errors import InputError
from core.tasks import DOMAINS_BY_NAME, Domain

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
    is_present: bool
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
    return tuple(_read_status(domain, data_dir) for domain in DOMAINS_BY_NAME.values())


def _read_status(domain: Domain, data_dir: Path) -> DomainStatus:
    files = find_domain_files(domain.name, data_dir)
    train, test = (None, None) if files is None else _count_splits(domain.name, files)
    return DomainStatus(
        name=domain.name,
        letter=domain.letter,
        title=domain.title,
        is_present=files is not None,
        format=files.format if files else None,
        origin=_describe_origin(files) if files else "",
        train=train,
        test=test,
        published=PUBLISHED_SIZES[domain.name],
        advice="" if files else GET_COMMANDS[domain.name] + ADVICE.get(domain.name, ""),
    )


def _describe_origin(files: DomainFiles) -> str:
    if not files.is_generated:
        return ORIGINS[files.format]
    try:
        photographs = read_record(files.folder).photographs
    except InputError:
        return ORIGINS[files.format] + "; the record is damaged"
    return ORIGINS[files.format] + (f" (from {photographs})" if photographs else "")


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
