"""Write files so that a reader, or the next start after a crash, finds the old content or the new."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

OWN_FILE = 0o644
"""The mode before the umask: other users never write to these files."""


def replace_file(
    path: Path, content: "bytes | memoryview", mode: int = OWN_FILE, *, temporary: Path | None = None
) -> None:
    """Write a file so that readers see the old content or the new."""
    with atomic_writer(path, mode, temporary=temporary) as stream:
        stream.write(content)


@contextmanager
def atomic_writer(
    path: Path, mode: int = OWN_FILE, *, temporary: Path | None = None, previous: Path | None = None
) -> Iterator[BinaryIO]:
    """Write to a temporary file, sync it, rename it to `path` and sync the directory.

    If anything before the last step fails, `path` stays as it was. The old content is kept as `previous`, if given.
    """
    temporary = temporary or path.with_name(f".{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    file = create_file(temporary, mode)
    try:
        with os.fdopen(file, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        if previous and path.exists():
            path.replace(previous)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    sync_directory(path.parent)


def partial_path(path: Path) -> Path:
    """Return the temporary name of a large file that has one writer: a killed process leaves at most one of it."""
    return path.with_name(f".{path.name}.partial")


def create_file(path: Path, mode: int = OWN_FILE) -> int:
    """Return a descriptor of a new file; fail if there is one already, or a symbolic link."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)


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


def is_writable(folder: Path) -> bool:
    """Return whether files can be added; a folder marked read-only is respected even if the user is root."""
    existing = folder
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    return existing.is_dir() and bool(existing.stat().st_mode & 0o222) and os.access(existing, os.W_OK | os.X_OK)
