"""Decode image files with several threads; Pillow decodes and resizes without Python's lock."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.data.decoded_cache import find_cached, read_or_make
from core.data.images import ArrayImages, FileImages, decode_image
from core.data.scratch import Scratch

Rows = NDArray[np.int64]
Progress = Callable[[int, int], None]
FEW = 4
"""Fewer than a fourth of the files are decoded alone and not kept."""
REPORT_EVERY = 16
"""Images between two reports of progress."""


@dataclass(frozen=True)
class Decoder:
    """Decodes files into arrays, which it keeps for other runs."""

    scratch: Scratch
    threads: int

    def decode(self, files: FileImages, rows: Rows, progress: Progress) -> tuple[ArrayImages, Rows]:
        """Return images from which `rows`, as returned, are to be read: kept ones, or decoded and kept now."""
        folder = self.scratch.cache_folder()
        cached = find_cached(files.paths, (files.shape, files.cut), (len(files), *files.shape), folder)
        if cached and (kept := cached.read()) is not None:
            return ArrayImages(kept), rows
        if len(rows) * FEW < len(files):
            chosen = FileImages([files.paths[row] for row in rows], files.shape, files.cut)
            return ArrayImages(self._decode_all(chosen, progress)), np.arange(len(rows))
        return ArrayImages(read_or_make(cached, lambda: self._decode_all(files, progress))), rows

    def _decode_all(self, files: FileImages, progress: Progress) -> NDArray[np.uint8]:
        """Return all images in order; the first unreadable file is an InputError, and the rest is not read."""
        out = self.scratch.empty((len(files), *files.shape))

        def decode(row: int) -> None:
            out[row] = decode_image(files.paths[row], files.shape, cut=files.cut)

        pool = ThreadPoolExecutor(self.threads, thread_name_prefix="decode")
        try:
            for done, _ in enumerate(pool.map(decode, range(len(files))), 1):
                if done % REPORT_EVERY == 0 or done == len(files):
                    progress(done, len(files))
        finally:
            pool.shutdown(cancel_futures=True)
        return out
