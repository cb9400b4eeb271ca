"""Files that are there whole or not at all, and that are never reached through a symbolic link."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from core.errors import InputError


def replace_file(path: Path, content: bytes, mode: int = 0o666) -> None:
    """A reader sees the old content or the new."""
    with replacing(path, mode) as stream:
        stream.write(content)


@contextmanager
def replacing(path: Path, mode: int = 0o666) -> Iterator[BinaryIO]:
    """Write beside, sync, rename: what is written is there in the end, and not at all if anything fails."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.unlink(missing_ok=True)
    file = create_file(beside, mode)
    try:
        with os.fdopen(file, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def create_file(path: Path, mode: int = 0o666) -> int:
    """A descriptor of a file that was not there before."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)


def open_append(path: Path, mode: int = 0o666) -> int:
    """A descriptor that only appends, and can be read to see how the file ends."""
    with told(path):
        return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, mode)


@contextmanager
def told(path: Path) -> Iterator[None]:
    """What the system refuses, as a sentence."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from error


def ends_torn(file: int) -> bool:
    """Whether the last line has no end."""
    size = os.fstat(file).st_size
    return size > 0 and os.pread(file, 1, size - 1) != b"\n"


def write_all(file: int, content: bytes) -> None:
    """Append everything, or leave the file as it was. For files under a lock only."""
    size = os.fstat(file).st_size
    view = memoryview(content)
    try:
        while view:
            view = view[os.write(file, view) :]
    except OSError:
        os.ftruncate(file, size)
        raise


def size_of(path: Path | str) -> int:
    """Bytes; nothing where there is no file."""
    try:
        return os.stat(path).st_size  # noqa: PTH116 - a listing asks for thousands, and paths take longer than files
    except OSError:
        return 0


def modified(path: Path) -> float:
    """Unix time of the last change; 0 where there is no file."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
