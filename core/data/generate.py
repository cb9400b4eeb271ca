"""Makes SYN-DIGITS or MNIST-M and keeps it in the data folder."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from core.data.digit_domains import missing_domain_error, read_domain_files
from core.data.digit_files import Digits
from core.data.formats import SPLITS, find_domain_files
from core.data.generated import GeneratedData, GenerationRecord, save_generated
from core.data.image_sources import read_images
from core.data.mnistm import generate_mnistm
from core.data.scratch import Scratch
from core.data.synth import SIZES, generate_synth
from core.errors import InputError

GENERATED = ("synth", "mnistm")


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
    """So many images of the domain, 0 for the usual number; returns how they were made."""
    if name not in GENERATED:
        raise InputError(f'"{name}" cannot be made; make knows {", ".join(GENERATED)}')
    if name == "synth":
        if photos is not None:
            raise InputError("synth: its backgrounds are plain colours; photographs are for mnistm only")
        made = generate_synth(train or SIZES[0], test or SIZES[1], seed, progress)
    else:
        made = _mnistm(data_dir, (train, test), seed, photos, progress)
    try:
        save_generated(made, data_dir / name)
    except OSError as error:
        raise InputError(f"{data_dir / name}: this folder cannot be written ({error.strerror or error})") from None
    return made.record


def _mnistm(
    data_dir: Path, sizes: tuple[int, int], seed: int, photos: Path | None, tell: Callable[[int, int], None]
) -> GeneratedData:
    form = find_domain_files("mnist", data_dir)
    if form is None:
        raise missing_domain_error("mnist", data_dir)
    scratch = Scratch(data_dir, float("inf"))
    digits: list[Digits] = []
    for split, part, size in zip(SPLITS, read_domain_files("mnist", form, scratch), sizes, strict=True):
        if size > len(part):
            raise InputError(f"--{split}: MNIST has {len(part)} images to make MNIST-M from, got {size}")
        rows = slice(0, size or len(part))
        x = read_images(part.images, np.arange(len(part))[rows], (28, 28, 1), scratch, lambda done, total: None)
        digits.append((x, part.y[rows]))
    return generate_mnistm(digits, seed, photos, tell)
