"""Data that was made here instead of published: the files, and the record that says so."""

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from errno import EACCES
from pathlib import Path
from typing import IO, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from core.data.digit_files import Digits
from core.data.formats import GENERATED_FILES
from core.data.writable import is_writable
from core.errors import InputError

TRAIN_FILE, TEST_FILE, RECORD_FILE = GENERATED_FILES


class GenerationRecord(msgspec.Struct, frozen=True):
    """How data was made: enough to make it again."""

    recipe: int
    """The version of the recipe: raised when the same seed gives other images."""
    seed: int
    train: int
    test: int
    photographs: str = ""
    """What the backgrounds were cut from."""

    @property
    def description(self) -> str:
        of = f" from {self.photographs}" if self.photographs else ""
        return (
            f"made here by the published recipe{of}, not the published images "
            f"({self.train} + {self.test} images, recipe {self.recipe}, seed {self.seed})"
        )


@dataclass(frozen=True)
class GeneratedData:
    """Made training and test images with their record."""

    train: Digits
    test: Digits
    record: GenerationRecord
    in_memory: bool = False


def save_generated(made: GeneratedData, folder: Path) -> None:
    """Both files and then the record, each replaced at once, so that a reader never sees half of one."""
    if not is_writable(folder):
        raise PermissionError(EACCES, "it is marked read-only", str(folder))
    folder.mkdir(parents=True, exist_ok=True)
    _replace(folder / TRAIN_FILE, lambda file: _save(file, made.train))
    _replace(folder / TEST_FILE, lambda file: _save(file, made.test))
    _replace(folder / RECORD_FILE, lambda file: _write(file, msgspec.json.format(msgspec.json.encode(made.record))))


def try_save_generated(made: GeneratedData, folder: Path) -> GeneratedData:
    """Save it for the next time; where the folder cannot be written, it stays in memory and says so."""
    try:
        save_generated(made, folder)
    except OSError:
        return replace(made, in_memory=True)
    return made


def read_record(folder: Path) -> GenerationRecord:
    try:
        return msgspec.json.decode((folder / RECORD_FILE).read_bytes(), type=GenerationRecord)
    except (OSError, msgspec.DecodeError):
        raise InputError(
            f"{folder / RECORD_FILE}: this record is damaged; delete the made files and make them again"
        ) from None


def _save(file: IO[bytes], digits: Digits) -> None:
    arrays: dict[str, NDArray[Any]] = {"x": digits[0], "y": digits[1].astype(np.uint8)}
    np.savez(file, **arrays)  # type: ignore[arg-type]


def _write(file: IO[bytes], content: bytes) -> None:
    file.write(content)


def _replace(path: Path, write: Callable[[IO[bytes]], None]) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
        temporary.chmod(0o644)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
