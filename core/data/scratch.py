"""Temporary files for arrays too large for memory; they are removed when the process ends."""

import atexit
import mmap
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from core.data.formats import is_writable


@dataclass(frozen=True)
class Scratch:
    """Creates arrays, in temporary files if they have more than `limit` bytes."""

    data_dir: Path
    limit: float

    def is_too_large(self, size: int) -> bool:
        return size > self.limit

    def empty(self, shape: tuple[int, ...]) -> NDArray[np.uint8]:
        """Return a writable array, in memory or in a file."""
        if not self.is_too_large(int(np.prod(shape, dtype=np.int64))):
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
        if not is_writable(folder):
            return None
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            return None
        return folder


@dataclass(frozen=True)
class FilePart:
    """Where the bytes of an array are in a file: all that another process needs to map it."""

    path: str
    offset: int
    shape: tuple[int, ...]

    def map(self) -> NDArray[np.uint8]:
        return np.memmap(self.path, np.uint8, "r", self.offset, self.shape)


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
    return FilePart(str(Path(mapped.filename).absolute()), offset + from_start, array.shape)


def _remove(path: Path, owner: int) -> None:
    """Remove the file in the process that created it; forked workers run its exit handlers too."""
    if os.getpid() == owner:
        path.unlink(missing_ok=True)
