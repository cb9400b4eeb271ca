"""Labelled pictures as the .npz file that training reads."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from clarinet_tui.label.labelling import Labelling
from clarinet_tui.runs.atomic_files import USER_FILE, as_input_error, atomic_writer
from clarinet_tui.text import format_count
from core.data.image_folders import FolderListing, folder_shape
from core.data.images import decode_image
from core.errors import InputError


def write_labels(labelling: Labelling, folder: Path, out: Path, image_size: int, *, cut: bool = False) -> list[str]:
    """Write what was labelled so far; return lines of text about it."""
    labels = labelling.labels()
    size = "×".join(map(str, write_arrays(out, folder, labels, labelling.classes, image_size, cut=cut)))
    yes = sum(y >= 0 for _, y, _ in labels)
    lines = [
        f"Written: {out} ({format_count(len(labels), 'picture')} of {size}: {yes} yes, {len(labels) - yes} no)",
        f"{labelling.seconds / 60:.1f} minutes, {labelling.seconds / len(labels):.1f} s an answer",
    ]
    if len(labelling.answers) < labelling.total:
        lines.append(f"{labelling.total - len(labelling.answers)} left: the same command continues")
    return lines


def write_arrays(
    out: Path,
    folder: Path,
    labels: Sequence[tuple[str, int, int]],
    classes: Sequence[str],
    image_size: int,
    *,
    cut: bool = False,
) -> tuple[int, int, int]:
    """Write x, y, ybar and classes atomically; return the shape of the images, which are stretched to it or cut."""
    if not labels:
        raise InputError("no picture was labelled: nothing to write")
    paths = tuple(folder / picture for picture, _, _ in labels)
    shape, _ = folder_shape([FolderListing(folder, paths, (-1,) * len(paths), None)], image_size)
    arrays: dict[str, Any] = {
        "x": np.stack([decode_image(path, shape, cut=cut) for path in paths]),
        "y": np.array([y for _, y, _ in labels], dtype=np.int64),
        "ybar": np.array([ybar for _, _, ybar in labels], dtype=np.int64),
        "classes": np.array(classes),
    }
    with as_input_error(out), atomic_writer(out, USER_FILE) as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)
    return shape
