"""Write files atomically, append complete lines, and open files; never through a symbolic link."""

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from core.errors import InputError
from core.files import OWN_FILE

USER_FILE = 0o666
"""The mode of exports before the umask, which alone decides who may write them."""


class StorageError(InputError):
    """The system refuses to write a file; see `errno`."""

    def __init__(self, path: Path, error: OSError) -> None:
        super().__init__(f"{path}: cannot be written: {error.strerror or error}")
        self.errno = error.errno


def replace_file(path: Path, content: bytes, mode: int = OWN_FILE) -> None:
    """Write a file so that readers see the old content or the new."""
    with atomic_writer(path, mode) as stream:
        stream.write(content)


@contextmanager
def atomic_writer(path: Path, mode: int = OWN_FILE) -> Iterator[BinaryIO]:
    """Write to a temporary file, sync it, rename it to `path` and sync the directory.

    If anything before the last step fails, `path` stays as it was.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    file = create_file(temporary, mode)
    try:
        with os.fdopen(file, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Make a new name in a directory durable; some file systems cannot sync directories, and need not."""
    file = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EBADF, errno.ENOTSUP):
            raise
    finally:
        os.close(file)


def create_file(path: Path, mode: int = OWN_FILE) -> int:
    """Return a descriptor of a new file; fail if there is one already."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)


def open_append(path: Path, mode: int = OWN_FILE) -> int:
    """Return a descriptor that appends, and can be read as well."""
    with as_input_error(path):
        return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, mode)


def open_regular(path: Path) -> int | None:
    """Return a descriptor for reading; None if there is no file, or anything but a regular one."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)  # a named pipe must not block
    except FileNotFoundError:
        return None
    if stat.S_ISREG(os.fstat(file).st_mode):
        return file
    os.close(file)
    return None


@contextmanager
def as_input_error(path: Path) -> Iterator[None]:
    """Raise a StorageError that names `path` instead of an OSError."""
    try:
        yield
    except OSError as error:
        raise StorageError(path, error) from error


def ends_mid_line(file: int) -> bool:
    """Return whether the last line has no line end."""
    size = os.fstat(file).st_size
    return size > 0 and os.pread(file, 1, size - 1) != b"\n"


def write_all(file: int, content: bytes) -> None:
    """Append everything, or leave the file as it was. The caller holds a lock on the file."""
    size = os.fstat(file).st_size
    view = memoryview(content)
    try:
        while view:
            view = view[os.write(file, view) :]
    except OSError:
        os.ftruncate(file, size)
        raise


def file_size(path: Path | str) -> int:
    """Return the size in bytes; 0 if there is no file."""
    try:
        return os.stat(path).st_size  # noqa: PTH116 - Path.stat is too slow for a list of thousands of runs
    except OSError:
        return 0


def modified_time(path: Path) -> float:
    """Return the Unix time of the last change; 0 if there is no file."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def append_line(path: Path, fields: dict[str, Any]) -> None:
    """Append a JSON object as one complete line, under a lock because several processes write to the file."""
    with as_input_error(path), os.fdopen(open_append(path), "ab", buffering=0) as stream:
        file = stream.fileno()
        fcntl.flock(file, fcntl.LOCK_EX)
        write_all(file, (b"\n" if ends_mid_line(file) else b"") + msgspec.json.encode(fields) + b"\n")
        os.fsync(file)
