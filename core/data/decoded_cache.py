"""Pixels and sizes of image files, kept for other runs on the same files: found by their paths, times and sizes.

A file of the cache has only numbers and their checksum, so that reading one runs no code; one that does not fit is
ignored and replaced.
"""

import fcntl
import hashlib
import json
import os
import shutil
import stat
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

MAGIC = b"clarinet pixels\1"
PREFIX = "decoded-"
UNUSED_SECONDS = 30 * 24 * 3600
"""Files that no run has used for so long are removed."""
CHUNK = 2**24
WAIT_SECONDS = 0.2


@dataclass(frozen=True)
class CachedArray:
    """The place of what was read from some image files."""

    path: Path
    shape: tuple[int, ...]

    def read(self) -> NDArray[np.uint8] | None:
        """Return the array, mapped from the file; changes to it never reach the file."""
        size = int(np.prod(self.shape, dtype=np.int64))
        try:
            with os.fdopen(os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
                status = os.fstat(file.fileno())
                is_complete = stat.S_ISREG(status.st_mode) and status.st_size == len(MAGIC) + size + 4
                if not is_complete or file.read(len(MAGIC)) != MAGIC:
                    return None
                x = np.memmap(file, dtype=np.uint8, mode="c", offset=len(MAGIC), shape=self.shape)
                file.seek(len(MAGIC) + size)
                if _checksum(x) != file.read(4):
                    return None
            os.utime(self.path)
        except OSError:
            return None
        return x

    def write(self, x: NDArray[np.uint8]) -> None:
        """Keep an array if there is space; a folder that cannot be written to keeps none."""
        try:
            _remove_unused(self.path.parent)
            if shutil.disk_usage(self.path.parent).free > 2 * x.nbytes:
                _write(self.path, x)
        except OSError:
            return

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Wait until no other process reads the same files, so that runs that start together read them once."""
        try:
            lock = self.path.with_suffix(".lock").open("wb")
        except OSError:
            yield
            return
        with lock:
            while not _try_lock(lock.fileno()):
                time.sleep(WAIT_SECONDS)
            yield


def find_cached(
    paths: Sequence[Path], settings: tuple[object, ...], shape: tuple[int, ...], folder: Path | None
) -> CachedArray | None:
    """Return where an array read from these files is kept; None without a folder, or if a file is missing."""
    import PIL

    if folder is None:
        return None
    try:
        folders = {parent: f"{parent.resolve()}/" for parent in {path.parent for path in paths}}
        stats = [(folders[path.parent] + path.name, path.stat()) for path in paths]
    except OSError:
        return None
    files = [[name, status.st_mtime_ns, status.st_size] for name, status in stats]
    key = json.dumps([PIL.__version__, os.getuid(), *settings, files]).encode()
    return CachedArray(folder / f"{PREFIX}{hashlib.blake2b(key, digest_size=16).hexdigest()}", shape)


def read_or_make(cached: CachedArray | None, make: Callable[[], NDArray[np.uint8]]) -> NDArray[np.uint8]:
    """Return the array that is kept, or make it and keep it."""
    if cached is None:
        return make()
    if (kept := cached.read()) is not None:
        return kept
    with cached.lock():
        if (kept := cached.read()) is None:
            kept = make()
            cached.write(kept)
    return kept


def _try_lock(descriptor: int) -> bool:
    """Return False if another process has the lock; file systems without locks have none."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _write(path: Path, x: NDArray[np.uint8]) -> None:
    """Write a file that only this user can read, as photographs may be private, and that appears complete."""
    handle, name = tempfile.mkstemp(prefix=f"{path.name}-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(MAGIC)
            for chunk in _chunks(x):
                file.write(chunk)
            file.write(_checksum(x))
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    finally:
        Path(name).unlink(missing_ok=True)


def _checksum(x: NDArray[np.uint8]) -> bytes:
    value = 0
    for chunk in _chunks(x):
        value = zlib.crc32(chunk, value)
    return value.to_bytes(4, "little")


def _chunks(x: NDArray[np.uint8]) -> Iterator[memoryview]:
    flat = x.reshape(-1)
    for start in range(0, flat.size, CHUNK):
        yield flat[start : start + CHUNK].data


def _remove_unused(folder: Path) -> None:
    for path in folder.glob(f"{PREFIX}*"):
        if path.lstat().st_mtime < time.time() - UNUSED_SECONDS:
            path.unlink(missing_ok=True)
