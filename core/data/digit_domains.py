"""The known digit domains: their files in every published format, readers of those, and generation of missing ones."""

import bz2
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from core.data.cache import Scratch
from core.data.custom_domains import read_arrays
from core.data.images import ArrayImages, FileImages, ProgressCallback, read_images
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
from core.tasks import DOMAINS_BY_NAME, Domain

SPLITS = ("train", "test")
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


IDX_IMAGES, IDX_LABELS = 2051, 2049
UCI_TRAIN = 1437
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
    order = np.random.default_rng(stream_seed(0, "digits", "split")).permutation(len(x))
    rows = np.sort(order[:UCI_TRAIN] if train else order[UCI_TRAIN:])
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
SYNTH_SEED = 0
USPS_TRAIN_SHARE = 0.8
GENERATED = ("synth", "mnistm")
"""Domains that can be generated by their published recipe."""


def read_digit_domain(domain: Domain, data_dir: Path, scratch: Scratch, progress: ProgressCallback) -> DomainSplits:
    """Read a known domain; SYN-DIGITS is generated if it is missing."""
    files = find_domain_files(domain.name, data_dir)
    if files is None and domain.name == "synth":
        generated = generate_synth(*DEFAULT_SIZES, SYNTH_SEED, partial(progress, f"Generating {domain.title}"))
        notes = [f"{domain.title} is {generated.record.description}"]
        try:
            save_generated(generated, data_dir / domain.name)  # for later runs
        except OSError:
            notes.append(f"{domain.title} was not kept: the data folder cannot be written")
        train, test = (_make_split(f"{domain.title}, generated", part) for part in (generated.train, generated.test))
        return DomainSplits(domain.name, domain.title, train, test, notes=tuple(notes))
    if files is None:
        raise missing_domain_error(domain.name, data_dir)
    train, test = read_domain_files(domain.name, files, scratch)
    counts, published = (len(train), len(test)), PUBLISHED_SIZES[domain.name]
    notes = []
    if files.is_generated:
        notes = [f"{domain.title} is {read_record(files.folder).description}"]
    elif counts != published:
        sizes = f"{counts[0]} + {counts[1]} images, published with {published[0]} + {published[1]}"
        notes = [f"{domain.title}: {sizes}"]
    return DomainSplits(domain.name, domain.title, train, test, notes=tuple(notes))


def read_domain_files(name: str, files: DomainFiles, scratch: Scratch) -> tuple[Split, Split]:
    """Return the training and the test split of a domain."""
    folder = files.folder
    match files.format:
        case FileFormat.ARRAYS:
            splits = [read_arrays(folder / f"{split}.npz", scratch) for split in SPLITS]
        case FileFormat.GENERATED:
            splits = [read_arrays(folder / file, scratch) for file in (TRAIN_FILE, TEST_FILE)]
        case FileFormat.RELEASE:
            splits = [read_release(folder, split) for split in SPLITS]
        case _:
            splits = [_make_split(str(folder), _read_published(name, folder, split)) for split in (0, 1)]
    train, test = (replace(split, names=split.names or CLASSES) for split in splits)
    return train, test


def missing_domain_error(name: str, data_dir: Path) -> InputError:
    return InputError(
        f"{data_dir / name}: {DOMAINS_BY_NAME[name].title} is missing; get it with `{GET_COMMANDS[name]}`, "
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
    cut = int(len(x) * USPS_TRAIN_SHARE)
    train, test = (
        replace(split, images=ArrayImages(x[rows]), y=y[rows])
        for split, rows in zip(splits, (order[:cut], order[cut:]), strict=True)
    )
    note = f"{domain.title}: all {len(x)} images shuffled 80/20, not the official split"
    return replace(domain, train=train, test=test, notes=(*domain.notes, note))


def _read_published(name: str, folder: Path, split: int) -> Digits:
    train = split == 0
    if name == "mnist":
        return read_mnist(folder, train)
    if name == "usps":
        return read_usps(folder, train)
    if name == "digits":
        return read_uci(train)
    return read_mat(folder / (SVHN_FILES if name == "svhn" else SYNTH_FILES)[split])


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
    progress: Callable[[int, int], None] = lambda done, total: None,
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
    data_dir: Path, sizes: tuple[int, int], seed: int, photos: Path | None, progress: Callable[[int, int], None]
) -> GeneratedData:
    files = find_domain_files("mnist", data_dir)
    if files is None:
        raise missing_domain_error("mnist", data_dir)
    scratch = Scratch(data_dir, float("inf"))
    digits: list[Digits] = []
    for name, split, size in zip(SPLITS, read_domain_files("mnist", files, scratch), sizes, strict=True):
        if size > len(split):
            raise InputError(f"--{name}: MNIST has {len(split)} images to generate MNIST-M from, got {size}")
        rows = slice(0, size or len(split))
        x = read_images(split.images, np.arange(len(split))[rows], (28, 28, 1), scratch, lambda done, total: None)
        digits.append((x, split.y[rows]))
    return generate_mnistm(digits, seed, photos, progress)
