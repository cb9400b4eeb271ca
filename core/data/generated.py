"""Generated data: its files, and the record of how it was generated."""

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from errno import EACCES
from pathlib import Path
from typing import IO, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from core.data.digit_files import Digits
from core.data.formats import GENERATED_FILES, is_writable
from core.errors import InputError

TRAIN_FILE, TEST_FILE, RECORD_FILE = GENERATED_FILES


class GenerationRecord(msgspec.Struct, frozen=True):
    """How data was generated: enough to generate it again."""

    recipe: int
    """The version of the recipe; raised when the same seed gives other images."""
    seed: int
    train: int
    test: int
    photographs: str = ""
    """The origin of the backgrounds."""

    @property
    def description(self) -> str:
        """Return the text of the run's note; runs are grouped by their notes, so it stays as it is."""
        origin = f" from {self.photographs}" if self.photographs else ""
        return (
            f"made here by the published recipe{origin}, not the published images "
            f"({self.train} + {self.test} images, recipe {self.recipe}, seed {self.seed})"
        )


@dataclass(frozen=True)
class GeneratedData:
    train: Digits
    test: Digits
    record: GenerationRecord


def save_generated(data: GeneratedData, folder: Path) -> None:
    """Write both splits and then the record, each atomically."""
    if not is_writable(folder):
        raise PermissionError(EACCES, "it is marked read-only", str(folder))
    folder.mkdir(parents=True, exist_ok=True)
    _replace(folder / TRAIN_FILE, lambda file: _save_arrays(file, data.train))
    _replace(folder / TEST_FILE, lambda file: _save_arrays(file, data.test))
    _replace(folder / RECORD_FILE, lambda file: file.write(msgspec.json.format(msgspec.json.encode(data.record))))


def read_record(folder: Path) -> GenerationRecord:
    try:
        return msgspec.json.decode((folder / RECORD_FILE).read_bytes(), type=GenerationRecord)
    except (OSError, msgspec.DecodeError):
        raise InputError(
            f"{folder / RECORD_FILE}: is damaged; delete the generated files and generate them again"
        ) from None


def _save_arrays(file: IO[bytes], digits: Digits) -> None:
    arrays: dict[str, NDArray[Any]] = {"x": digits[0], "y": digits[1].astype(np.uint8)}
    np.savez(file, **arrays)  # type: ignore[arg-type]


def _replace(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
