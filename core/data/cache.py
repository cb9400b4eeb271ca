"""Files beside the data: temporary ones for arrays too large for memory, and decoded images for other runs."""

import atexit
import fcntl
import hashlib
import json
import mmap
import os
import shutil
import stat
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from core.files import atomic_writer, is_writable


@dataclass(frozen=True)
class Scratch:
    """Creates arrays, in temporary files if they have more than `limit` bytes."""

    data_dir: Path
    limit: float

    def empty(self, shape: tuple[int, ...]) -> NDArray[np.uint8]:
        """Return a writable array, in memory or in a file."""
        if int(np.prod(shape, dtype=np.int64)) <= self.limit:
            return np.empty(shape, dtype=np.uint8)
        return np.lib.format.open_memmap(self._file(), mode="w+", dtype=np.uint8, shape=shape)

    def unpack(self, member: IO[bytes]) -> NDArray[np.uint8]:
        """Unpack an array of a compressed file piece by piece; changes to it never reach the file."""
        path = self._file()
        with path.open("wb") as file:
            shutil.copyfileobj(member, file, 2**20)
        mapped: NDArray[np.uint8] = np.load(path, mmap_mode="c", allow_pickle=False)
        return mapped

    def _file(self) -> Path:
        handle, name = tempfile.mkstemp(prefix="images-", suffix=".npy", dir=self.cache_folder())
        os.close(handle)
        atexit.register(_remove, Path(name), os.getpid())
        return Path(name)

    def cache_folder(self) -> Path | None:
        """Return a cache in the data folder, or None for the system's temporary folder."""
        folder = self.data_dir / ".cache"
        with suppress(OSError):
            if is_writable(folder):
                folder.mkdir(parents=True, exist_ok=True)
                return folder
        return None


FilePart = tuple[str, int, tuple[int, ...]]
"""The path, offset and shape of an array in a file: all that another process needs to map it."""


def find_in_file(array: NDArray[np.uint8]) -> FilePart:
    """Return the file that a contiguous array is mapped from; an array in memory is written to a temporary one."""
    if not isinstance(array, np.memmap) or not array.flags.c_contiguous:
        written = Scratch(Path(tempfile.gettempdir()), 0).empty(array.shape)
        written[...] = array
        return find_in_file(written)
    mapped: Any = array  # numpy's types lack _mmap
    start = np.frombuffer(mapped._mmap, dtype=np.uint8)
    from_start = array.__array_interface__["data"][0] - start.__array_interface__["data"][0]
    offset = mapped.offset // mmap.ALLOCATIONGRANULARITY * mmap.ALLOCATIONGRANULARITY
    return str(Path(mapped.filename).absolute()), offset + from_start, array.shape


def _remove(path: Path, owner: int) -> None:
    """Remove the file in the process that created it; forked workers run its exit handlers too."""
    if os.getpid() == owner:
        path.unlink(missing_ok=True)


MAGIC = b"clarinet pixels\1"
PREFIX = "decoded-"
UNUSED_SECONDS = 30 * 24 * 3600
"""Files that no run has used for this time are removed."""


@dataclass(frozen=True)
class CachedArray:
    """The path of what was read from some image files."""

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
        with suppress(OSError):
            for path in self.path.parent.glob(f"{PREFIX}*"):
                if path.lstat().st_mtime < time.time() - UNUSED_SECONDS:
                    path.unlink(missing_ok=True)
            if shutil.disk_usage(self.path.parent).free > 2 * x.nbytes:
                # Only this user can read it, as photographs may be private; the name is removed with the old files.
                temporary = self.path.with_name(f"{self.path.name}-{os.getpid()}")
                with atomic_writer(self.path, 0o600, temporary=temporary) as file:
                    file.write(MAGIC)
                    file.write(x.reshape(-1).data)
                    file.write(_checksum(x))

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Wait until no other process reads the same files, so that runs that start together read them once."""
        try:
            lock = self.path.with_suffix(".lock").open("wb")
        except OSError:
            yield
            return
        with lock:
            with suppress(OSError):  # file systems without locks have none
                fcntl.flock(lock, fcntl.LOCK_EX)
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


def _checksum(x: NDArray[np.uint8]) -> bytes:
    return zlib.crc32(x.reshape(-1).data).to_bytes(4, "little")
