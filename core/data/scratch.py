"""Temporary files for arrays too large for memory; they are removed when the process ends."""

import atexit
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO

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
        handle, name = tempfile.mkstemp(prefix="images-", suffix=".npy", dir=self._folder())
        os.close(handle)
        atexit.register(_remove, Path(name), os.getpid())
        return Path(name)

    def _folder(self) -> Path | None:
        """Return a cache in the data folder, or None for the system's temporary folder."""
        folder = self.data_dir / ".cache"
        if not is_writable(folder):
            return None
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            return None
        return folder


def _remove(path: Path, owner: int) -> None:
    """Remove the file in the process that created it; forked workers run its exit handlers too."""
    if os.getpid() == owner:
        path.unlink(missing_ok=True)
