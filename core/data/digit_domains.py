"""The known digits, from whichever form of them is in the data folder."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from core.data.digit_files import Digits, read_mat, read_mnist, read_uci, read_usps
from core.data.formats import GET, PUBLISHED, SPLITS, SVHN_FILES, SYNTH_FILES, Form, find_form
from core.data.generated import TEST, TRAIN, Made, keep_made, read_record
from core.data.image_sources import Progress, Stored
from core.data.mnistm import read_release
from core.data.npz import read_arrays
from core.data.scratch import Scratch
from core.data.splits import DomainParts, Part
from core.data.synth import SIZES, make_synth
from core.errors import InputError
from core.random_streams import stream
from core.tasks import BY_NAME, Domain

CLASSES = tuple("0123456789")
SYNTH_SEED = 0
USPS_TRAIN_SHARE = 0.8


def read_known(domain: Domain, data_dir: Path, scratch: Scratch, progress: Progress) -> DomainParts:
    """A known domain with its training and test images; SYN-DIGITS is made where it is missing."""
    form = find_form(domain.name, data_dir)
    if form is None and domain.name == "synth":
        return _made_now(domain, data_dir, progress)
    if form is None:
        raise missing(domain.name, data_dir)
    train, test = read_form(domain.name, form, scratch)
    return DomainParts(domain.name, domain.title, train, test, notes=_notes(domain, form, train, test))


def read_form(name: str, form: Form, scratch: Scratch) -> tuple[Part, Part]:
    """The training and the test part of a domain in this form."""
    folder = form.folder
    if form.kind == "arrays":
        return _arrays(folder / "train.npz", scratch), _arrays(folder / "test.npz", scratch)
    if form.kind == "made":
        return _arrays(folder / TRAIN, scratch), _arrays(folder / TEST, scratch)
    if form.kind == "release":
        train, test = (read_release(folder, split) for split in SPLITS)
        return _digits(train), _digits(test)
    train, test = (_part(str(folder), _published(name, folder, split)) for split in (0, 1))
    return train, test


def missing(name: str, data_dir: Path) -> InputError:
    """What to type for a domain that is not there."""
    return InputError(
        f"{data_dir / name}: {BY_NAME[name].title} is not there; get it with `{GET[name]}`, "
        "or put train.npz and test.npz there"
    )


def shuffle_split(parts: DomainParts) -> DomainParts:
    """USPS as the released program has it: all images shuffled once, four fifths of them for training."""
    pieces = parts.parts
    if any(piece.ybar is not None for piece in pieces):
        raise InputError(
            f"{pieces[0].place}: usps_split 80/20 needs true labels, but the file gives complementary ones"
        )
    read = [piece.pictures.read(np.arange(len(piece))) for piece in pieces]
    x, y = np.concatenate(read), np.concatenate([piece.y for piece in pieces])
    order = np.random.default_rng(stream(0, "usps", "80/20")).permutation(len(x))
    cut = int(len(x) * USPS_TRAIN_SHARE)
    train, test = (
        replace(piece, pictures=Stored(x[rows]), y=y[rows])
        for piece, rows in zip(pieces, (order[:cut], order[cut:]), strict=True)
    )
    note = f"{parts.title}: all {len(x)} images shuffled 80/20, not the official split"
    return replace(parts, train=train, test=test, notes=(*parts.notes, note))


def _published(name: str, folder: Path, split: int) -> Digits:
    train = split == 0
    if name == "mnist":
        return read_mnist(folder, train)
    if name == "usps":
        return read_usps(folder, train)
    if name == "digits":
        return read_uci(train)
    return read_mat(folder / (SVHN_FILES if name == "svhn" else SYNTH_FILES)[split])


def _made_now(domain: Domain, data_dir: Path, progress: Progress) -> DomainParts:
    made = make_synth(*SIZES, SYNTH_SEED, lambda done, total: progress(f"Making {domain.title}", done, total))
    made = keep_made(made, data_dir / domain.name)
    place = f"{domain.title}, made"
    return DomainParts(
        domain.name, domain.title, _part(place, made.train), _part(place, made.test), notes=_made_notes(domain, made)
    )


def _made_notes(domain: Domain, made: Made) -> tuple[str, ...]:
    note = f"{domain.title} is {made.record.sentence}"
    return (note, f"{domain.title} was not kept: the data folder cannot be written") if made.in_memory else (note,)


def _notes(domain: Domain, form: Form, train: Part, test: Part) -> tuple[str, ...]:
    if form.made:
        return (f"{domain.title} is {read_record(form.folder).sentence}",)
    counts, published = (len(train), len(test)), PUBLISHED[domain.name]
    if counts == published:
        return ()
    return (f"{domain.title}: {counts[0]} + {counts[1]} images, published with {published[0]} + {published[1]}",)


def _arrays(path: Path, scratch: Scratch) -> Part:
    return _digits(read_arrays(path, scratch))


def _digits(part: Part) -> Part:
    """Digits have their ten classes, whatever the file says."""
    return replace(part, names=part.names or CLASSES)


def _part(place: str, digits: Digits) -> Part:
    return Part(place, Stored(digits[0]), digits[1], None, CLASSES)
