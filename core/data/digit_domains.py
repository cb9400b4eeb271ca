"""The known digit domains: their files in every published format, read, generated, listed and verified."""

import bz2
import zlib
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from core.data.cache import Scratch
from core.data.custom_domains import count_images, read_arrays
from core.data.images import ArrayImages, FileImages, Progress, ProgressCallback, read_images
from core.data.labels import encode_labels
from core.data.synthetic import (
    DEFAULT_SIZES,
    GENERATED_FILES,
    TEST_FILE,
    TRAIN_FILE,
    Digits,
    GeneratedData,
    GenerationRecord,
    generate_mnistm,
    generate_synth,
    read_record,
    save_generated,
)
from core.data.task_data import DomainSplits, Split
from core.errors import InputError
from core.random_streams import stream_seed
from core.tasks import DOMAINS_BY_NAME, Domain, Shape

SPLITS = ("train", "test")
MNIST_RAW = Path("MNIST", "raw")
MNIST_FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
USPS_FILES = ("usps.bz2", "usps.t.bz2")
SVHN_FILES = ("train_32x32.mat", "test_32x32.mat")
SYNTH_FILES = ("synth_train_32x32.mat", "synth_test_32x32.mat")
MNISTM_FILES = ("mnist_m_train_labels.txt", "mnist_m_test_labels.txt")


class FileFormat(StrEnum):
    TORCHVISION = "torchvision"
    RELEASE = "release"
    """MNIST-M as its authors published it."""
    ORIGINAL = "original"
    """SYN-DIGITS as its authors published it."""
    ARRAYS = "arrays"
    """train.npz and test.npz."""
    GENERATED = "generated"
    BUNDLED = "bundled"
    """UCI digits, which come with scikit-learn."""


ARRAY_FILES = {FileFormat.ARRAYS: ("train.npz", "test.npz"), FileFormat.GENERATED: (TRAIN_FILE, TEST_FILE)}


@dataclass(frozen=True)
class PublishedDomain:
    """How a known domain is published."""

    sizes: tuple[int, int]
    """The numbers of training and test images."""
    command: str
    """Gets the domain if it is missing."""
    format: FileFormat
    files: tuple[str, ...]
    folders: tuple[Path, ...] = (Path(),)
    """The folders, in that of the domain, that may have the files."""
    shape: Shape | None = None


PUBLISHED = {
    "mnist": PublishedDomain(
        (60000, 10000), "clarinet data fetch mnist", FileFormat.TORCHVISION, MNIST_FILES, (MNIST_RAW,), (28, 28, 1)
    ),
    "usps": PublishedDomain(
        (7291, 2007), "clarinet data fetch usps", FileFormat.TORCHVISION, USPS_FILES, shape=(16, 16, 1)
    ),
    "svhn": PublishedDomain(
        (73257, 26032), "clarinet data fetch svhn", FileFormat.TORCHVISION, SVHN_FILES, shape=(32, 32, 3)
    ),
    "mnistm": PublishedDomain(
        (59001, 9001), "clarinet data make mnistm", FileFormat.RELEASE, MNISTM_FILES, (Path(), Path("mnist_m"))
    ),
    "synth": PublishedDomain(
        (479400, 9553), "clarinet data make synth", FileFormat.ORIGINAL, SYNTH_FILES, shape=(32, 32, 3)
    ),
    "digits": PublishedDomain((1437, 360), "", FileFormat.BUNDLED, (), shape=(8, 8, 1)),  # in a fixed split of our own
}


@dataclass(frozen=True)
class DomainFiles:
    """The files of a domain that is present."""

    format: FileFormat
    folder: Path


def find_domain_files(name: str, data_dir: Path) -> DomainFiles | None:
    """Return the best files present: published ones before arrays, arrays before generated ones."""
    home, published = data_dir / name, PUBLISHED[name]
    has_arrays = _has_files(home, "train.npz")
    if published.files or not has_arrays:  # arrays replace the digits of scikit-learn
        for folder in published.folders:
            if _has_files(home / folder, *published.files):
                return DomainFiles(published.format, home / folder)
    if has_arrays:
        return DomainFiles(FileFormat.ARRAYS, home)
    return DomainFiles(FileFormat.GENERATED, home) if _has_files(home, *GENERATED_FILES) else None


def _has_files(folder: Path, *files: str) -> bool:
    return all((folder / file).is_file() for file in files)


IDX_IMAGES, IDX_LABELS = 2051, 2049
MAT_DAMAGE = (OSError, ValueError, LookupError, TypeError, NotImplementedError, zlib.error)
"""What reading a damaged MATLAB file raises, beside MatReadError."""


def read_mnist(raw: Path, train: bool) -> Digits:
    """Read torchvision's MNIST without importing torchvision, which takes longer than reading."""
    prefix = "train" if train else "t10k"
    x = _read_idx(raw / f"{prefix}-images-idx3-ubyte", IDX_IMAGES, 3)
    y = _read_idx(raw / f"{prefix}-labels-idx1-ubyte", IDX_LABELS, 1)
    if len(x) != len(y):
        raise InputError(f"{raw}: {len(x)} images but {len(y)} labels; delete them and fetch mnist again")
    return x[..., None], y.astype(np.int64)


def read_usps(folder: Path, train: bool) -> Digits:
    """Read torchvision's USPS with the same rounding, several times as fast."""
    path = folder / ("usps.bz2" if train else "usps.t.bz2")
    try:
        text = bz2.decompress(path.read_bytes()).replace(b":", b" ")
        table = np.fromstring(text, sep=" ", dtype=np.float64).reshape(-1, 1 + 2 * 256)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{path}: is damaged ({error}); delete it and fetch usps again") from None
    pixels = table[:, 2::2].astype(np.float32)
    x = ((pixels + 1) / 2 * 255).astype(np.uint8)
    return x.reshape(-1, 16, 16, 1), table[:, 0].astype(np.int64) - 1


def read_mat(path: Path) -> Digits:
    """Read a file of SVHN or SYN-DIGITS: X (H, W, C, N) and y (N, 1), where 10 may stand for 0."""
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    try:
        content = loadmat(path, variable_names=["X", "y"])
        x, y = content["X"], content["y"].astype(np.int64).reshape(-1)
    except (*MAT_DAMAGE, MatReadError) as error:
        raise InputError(f"{path}: cannot be read ({error}); download it again") from None
    if x.ndim != 4 or x.dtype != np.uint8 or x.shape[3] != len(y):
        raise InputError(f"{path}: expected X (H, W, C, N) uint8 and y (N, 1), got {x.shape} and {y.shape}")
    return x.transpose(3, 0, 1, 2), np.where(y == 10, 0, y)


def read_uci(train: bool) -> Digits:
    """Read scikit-learn's bundled digits, 8×8, in one fixed split."""
    from sklearn.datasets import load_digits

    bundle = load_digits()
    x = np.rint(bundle.images * (255 / 16)).astype(np.uint8)[..., None]
    count, _ = PUBLISHED["digits"].sizes
    order = np.random.default_rng(stream_seed(0, "digits", "split")).permutation(len(x))
    rows = np.sort(order[:count] if train else order[count:])
    return x[rows], bundle.target.astype(np.int64)[rows]


def read_release(folder: Path, split: str) -> Split:
    """Read mnist_m_train/ or mnist_m_test/ with its list of labels."""
    listing = folder / f"mnist_m_{split}_labels.txt"
    names: list[str] = []
    labels: list[int] = []
    for number, line in enumerate(listing.read_text().splitlines(), 1):
        fields = line.split()
        if not fields:
            continue
        if len(fields) != 2 or fields[1] not in set("0123456789"):
            raise InputError(f'{listing}: line {number}: expected "name.png 7", got "{line[:60]}"')
        names.append(fields[0])
        labels.append(int(fields[1]))
    if not names:
        raise InputError(f"{listing}: lists no images")
    paths = [folder / f"mnist_m_{split}" / name for name in names]
    return Split(str(listing), FileImages(paths, (32, 32, 3)), np.array(labels, dtype=np.int64))


def _read_idx(path: Path, magic: int, dimensions: int) -> NDArray[np.uint8]:
    content = path.read_bytes()
    length = 4 * (1 + dimensions)
    header = np.frombuffer(content[:length].ljust(length, b"\0"), dtype=">u4").astype(np.int64)
    shape = tuple(int(size) for size in header[1:])
    if header[0] != magic or len(content) != length + np.prod(shape):
        raise InputError(f"{path}: is damaged; delete it and fetch mnist again")
    return np.frombuffer(content, dtype=np.uint8, offset=length).reshape(shape).copy()


CLASSES = tuple("0123456789")
GENERATED = ("synth", "mnistm")
"""Domains that can be generated by their published recipe."""


def read_digit_domain(domain: Domain, scratch: Scratch, progress: ProgressCallback) -> DomainSplits:
    """Read a known domain; SYN-DIGITS is generated if it is missing."""
    data_dir = scratch.data_dir
    if domain.name == "synth" and find_domain_files(domain.name, data_dir) is None:
        generated = generate_synth(*DEFAULT_SIZES, 0, partial(progress, f"Generating {domain.title}"))
        notes = [f"{domain.title} is {generated.record.description}"]
        try:
            save_generated(generated, data_dir / domain.name)  # for later runs
        except OSError:
            notes.append(f"{domain.title} was not kept: the data folder cannot be written")
        train, test = (_make_split(f"{domain.title}, generated", part) for part in (generated.train, generated.test))
        return DomainSplits(domain, train, test, tuple(notes))
    files = _require_files(domain.name, data_dir)
    train, test = read_domain_files(domain.name, files, scratch)
    counts, published = (len(train), len(test)), PUBLISHED[domain.name].sizes
    notes = []
    if files.format is FileFormat.GENERATED:
        notes = [f"{domain.title} is {read_record(files.folder).description}"]
    elif counts != published:
        sizes = f"{counts[0]} + {counts[1]} images, published with {published[0]} + {published[1]}"
        notes = [f"{domain.title}: {sizes}"]
    return DomainSplits(domain, train, test, tuple(notes))


def read_domain_files(name: str, files: DomainFiles, scratch: Scratch) -> tuple[Split, Split]:
    """Return the training and the test split of a domain."""
    folder = files.folder
    if files.format in ARRAY_FILES:
        splits = [read_arrays(folder / file, scratch) for file in ARRAY_FILES[files.format]]
    elif files.format is FileFormat.RELEASE:
        splits = [read_release(folder, split) for split in SPLITS]
    else:
        splits = [_make_split(str(folder), _read_published(name, folder, train)) for train in (True, False)]
    train, test = (replace(split, names=split.names or CLASSES) for split in splits)
    return train, test


def _require_files(name: str, data_dir: Path) -> DomainFiles:
    if files := find_domain_files(name, data_dir):
        return files
    raise InputError(
        f"{data_dir / name}: {DOMAINS_BY_NAME[name].title} is missing; get it with `{PUBLISHED[name].command}`, "
        "or put train.npz and test.npz there"
    )


def shuffle_split(domain: DomainSplits) -> DomainSplits:
    """Split USPS as the released program does: all images shuffled once, four fifths of them for training."""
    splits = domain.splits
    if any(split.ybar is not None for split in splits):
        raise InputError(
            f"{splits[0].origin}: usps_split 80/20 needs true labels, but the file gives complementary ones"
        )
    x = np.concatenate([split.images.read(np.arange(len(split))) for split in splits])
    y = np.concatenate([split.y for split in splits])
    order = np.random.default_rng(stream_seed(0, "usps", "80/20")).permutation(len(x))
    cut = int(len(x) * 0.8)
    train, test = (
        replace(split, images=ArrayImages(x[rows]), y=y[rows])
        for split, rows in zip(splits, (order[:cut], order[cut:]), strict=True)
    )
    note = f"{domain.domain.title}: all {len(x)} images shuffled 80/20, not the official split"
    return replace(domain, train=train, test=test, notes=(*domain.notes, note))


def _read_published(name: str, folder: Path, train: bool) -> Digits:
    if name == "mnist":
        return read_mnist(folder, train)
    if name == "usps":
        return read_usps(folder, train)
    if name == "digits":
        return read_uci(train)
    return read_mat(folder / PUBLISHED[name].files[0 if train else 1])


def _make_split(origin: str, digits: Digits) -> Split:
    return Split(origin, ArrayImages(digits[0]), digits[1], None, CLASSES)


# -- generating ------------------------------------------------------------------------------------------------------


def generate_domain(
    name: str,
    data_dir: Path,
    *,
    train: int = 0,
    test: int = 0,
    seed: int = 0,
    photos: Path | None = None,
    progress: Progress = lambda done, total: None,
) -> GenerationRecord:
    """Generate `train` and `test` images of SYN-DIGITS or MNIST-M, 0 for the usual number, and save them."""
    if name not in GENERATED:
        raise InputError(f'"{name}" cannot be generated; choose one of {", ".join(GENERATED)}')
    if name == "synth":
        if photos is not None:
            raise InputError("synth: its backgrounds are plain colours; photographs are for mnistm only")
        generated = generate_synth(train or DEFAULT_SIZES[0], test or DEFAULT_SIZES[1], seed, progress)
    else:
        generated = _generate_mnistm(data_dir, (train, test), seed, photos, progress)
    try:
        save_generated(generated, data_dir / name)
    except OSError as error:
        raise InputError(f"{data_dir / name}: cannot be written ({error.strerror or error})") from None
    return generated.record


def _generate_mnistm(
    data_dir: Path, sizes: tuple[int, int], seed: int, photos: Path | None, progress: Progress
) -> GeneratedData:
    scratch = Scratch(data_dir, float("inf"))
    splits = read_domain_files("mnist", _require_files("mnist", data_dir), scratch)
    digits: list[Digits] = []
    for name, split, size in zip(SPLITS, splits, sizes, strict=True):
        if size > len(split):
            raise InputError(f"--{name}: MNIST has {len(split)} images to generate MNIST-M from, got {size}")
        rows = np.arange(size or len(split))
        x = read_images(split.images, rows, (28, 28, 1), scratch, lambda done, total: None)
        digits.append((x, split.y[rows]))
    train, test = digits
    return generate_mnistm(train, test, seed, photos, progress)


# -- listing and verifying -------------------------------------------------------------------------------------------

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
        if files and files.format is FileFormat.GENERATED:
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
                published=PUBLISHED[domain.name].sizes,
                advice="" if files else PUBLISHED[domain.name].command + ADVICE.get(domain.name, ""),
            )
        )
    return tuple(statuses)


def _count_splits(name: str, files: DomainFiles) -> tuple[int | None, int | None]:
    """Count images from headers and lists alone; files that would have to be unpacked are assumed complete."""
    counters = {"mnistm": _count_lines, "mnist": _count_idx, "synth": _count_mat}
    count = count_images if files.format in ARRAY_FILES else counters.get(name)
    if count is None:
        return PUBLISHED[name].sizes
    names = ARRAY_FILES.get(files.format, PUBLISHED[name].files)
    train, test = names[::2] if name == "mnist" and files.format is FileFormat.TORCHVISION else names
    return count(files.folder / train), count(files.folder / test)


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
    files = _require_files(name, data_dir)
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
