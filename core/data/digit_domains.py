"""The known digits, from whichever form of them is in the data folder."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from core.data.digit_files import Digits, read_mat, read_mnist, read_uci, read_usps
from core.data.formats import (
    GET_COMMANDS,
    PUBLISHED_SIZES,
    SPLITS,
    SVHN_FILES,
    SYNTH_FILES,
    DomainFiles,
    find_domain_files,
)
from core.data.generated import TEST_FILE, TRAIN_FILE, GeneratedData, read_record, try_save_generated
from core.data.image_sources import ArrayImages, ProgressCallback
from core.data.mnistm import read_release
from core.data.npz import read_arrays
from core.data.scratch import Scratch
from core.data.splits import DomainSplits, Split
from core.data.synth import SIZES, generate_synth
from core.errors import InputError
from core.random_streams import stream_seed
from core.tasks import BY_NAME, Domain

CLASSES = tuple("0123456789")
SYNTH_SEED = 0
USPS_TRAIN_SHARE = 0.8


def read_digit_domain(domain: Domain, data_dir: Path, scratch: Scratch, progress: ProgressCallback) -> DomainSplits:
    """A known domain with its training and test images; SYN-DIGITS is made where it is missing."""
    form = find_domain_files(domain.name, data_dir)
    if form is None and domain.name == "synth":
        return _made_now(domain, data_dir, progress)
    if form is None:
        raise missing_domain_error(domain.name, data_dir)
    train, test = read_domain_files(domain.name, form, scratch)
    return DomainSplits(domain.name, domain.title, train, test, notes=_notes(domain, form, train, test))


def read_domain_files(name: str, form: DomainFiles, scratch: Scratch) -> tuple[Split, Split]:
    """The training and the test part of a domain in this form."""
    folder = form.folder
    if form.format == "arrays":
        return _arrays(folder / "train.npz", scratch), _arrays(folder / "test.npz", scratch)
    if form.format == "made":
        return _arrays(folder / TRAIN_FILE, scratch), _arrays(folder / TEST_FILE, scratch)
    if form.format == "release":
        train, test = (read_release(folder, split) for split in SPLITS)
        return _digits(train), _digits(test)
    train, test = (_part(str(folder), _published(name, folder, split)) for split in (0, 1))
    return train, test


def missing_domain_error(name: str, data_dir: Path) -> InputError:
    """What to type for a domain that is not there."""
    return InputError(
        f"{data_dir / name}: {BY_NAME[name].title} is not there; get it with `{GET_COMMANDS[name]}`, "
        "or put train.npz and test.npz there"
    )


def shuffle_split(domain: DomainSplits) -> DomainSplits:
    """USPS as the released program has it: all images shuffled once, four fifths of them for training."""
    pieces = domain.splits
    if any(piece.ybar is not None for piece in pieces):
        raise InputError(
            f"{pieces[0].place}: usps_split 80/20 needs true labels, but the file gives complementary ones"
        )
    read = [piece.images.read(np.arange(len(piece))) for piece in pieces]
    x, y = np.concatenate(read), np.concatenate([piece.y for piece in pieces])
    order = np.random.default_rng(stream_seed(0, "usps", "80/20")).permutation(len(x))
    cut = int(len(x) * USPS_TRAIN_SHARE)
    train, test = (
        replace(piece, images=ArrayImages(x[rows]), y=y[rows])
        for piece, rows in zip(pieces, (order[:cut], order[cut:]), strict=True)
    )
    note = f"{domain.title}: all {len(x)} images shuffled 80/20, not the official split"
    return replace(domain, train=train, test=test, notes=(*domain.notes, note))


def _published(name: str, folder: Path, split: int) -> Digits:
    train = split == 0
    if name == "mnist":
        return read_mnist(folder, train)
    if name == "usps":
        return read_usps(folder, train)
    if name == "digits":
        return read_uci(train)
    return read_mat(folder / (SVHN_FILES if name == "svhn" else SYNTH_FILES)[split])


def _made_now(domain: Domain, data_dir: Path, progress: ProgressCallback) -> DomainSplits:
    made = generate_synth(*SIZES, SYNTH_SEED, lambda done, total: progress(f"Making {domain.title}", done, total))
    made = try_save_generated(made, data_dir / domain.name)
    place = f"{domain.title}, made"
    return DomainSplits(
        domain.name, domain.title, _part(place, made.train), _part(place, made.test), notes=_made_notes(domain, made)
    )


def _made_notes(domain: Domain, made: GeneratedData) -> tuple[str, ...]:
    note = f"{domain.title} is {made.record.description}"
    return (note, f"{domain.title} was not kept: the data folder cannot be written") if made.in_memory else (note,)


def _notes(domain: Domain, form: DomainFiles, train: Split, test: Split) -> tuple[str, ...]:
    if form.is_generated:
        return (f"{domain.title} is {read_record(form.folder).description}",)
    counts, published = (len(train), len(test)), PUBLISHED_SIZES[domain.name]
    if counts == published:
        return ()
    return (f"{domain.title}: {counts[0]} + {counts[1]} images, published with {published[0]} + {published[1]}",)


def _arrays(path: Path, scratch: Scratch) -> Split:
    return _digits(read_arrays(path, scratch))


def _digits(part: Split) -> Split:
    """Digits have their ten classes, whatever the file says."""
    return replace(part, names=part.names or CLASSES)


def _part(place: str, digits: Digits) -> Split:
    return Split(place, ArrayImages(digits[0]), digits[1], None, CLASSES)
