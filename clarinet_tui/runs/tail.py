"""Read the lines of a file that others append to, rotate, truncate or create later, in bounded memory."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Self

from clarinet_tui.runs.files import UnreadableFileError, open_file

CHUNK = 1 << 16


class FileTail:
    """Lines are cut to `max_line` bytes. Anything but a regular file counts as missing."""

    def __init__(self, path: Path, max_line: int) -> None:
        self._path, self._max_line = path, max_line
        self._file: BinaryIO | None = None
        self._offset = 0
        self._partial = b""
        """The last line while it has no line end."""
        self._open()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def read_backwards(self) -> Iterator[bytes]:
        """Yield the lines that are there now, last first; `read_new` continues after them."""
        if self._file is None:
            return iter(())
        self._offset = os.fstat(self._file.fileno()).st_size
        lines = _backwards(self._file, self._offset, self._max_line)
        self._partial = next(lines)
        return lines

    def read_new(self) -> Iterator[bytes]:
        """Yield the lines since the last call; if the file was replaced, the rest of the old one comes first."""
        replaced = self._is_replaced()
        yield from self._complete_lines()
        if self._file is None or replaced:
            yield from self.read_partial()
            self._close()
            self._open()
            yield from self._complete_lines()

    def read_partial(self) -> Iterator[bytes]:
        """Yield the last line if it has no line end; to be called when the file grows no more."""
        partial, self._partial = self._partial, b""
        if partial:
            yield partial

    def _complete_lines(self) -> Iterator[bytes]:
        if self._file is None:
            return
        if os.fstat(self._file.fileno()).st_size < self._offset:
            self._offset, self._partial = 0, b""
        while chunk := os.pread(self._file.fileno(), CHUNK, self._offset):
            self._offset += len(chunk)
            *lines, rest = chunk.split(b"\n")
            for line in lines:
                complete, self._partial = self._partial + line, b""
                yield complete[: self._max_line]
            self._partial = (self._partial + rest)[: self._max_line]

    def _is_replaced(self) -> bool:
        """Return whether the path names another file; a file that was only moved may still grow."""
        try:
            return self._file is not None and not os.path.samestat(self._path.stat(), os.fstat(self._file.fileno()))
        except OSError:
            return False

    def _open(self) -> None:
        self._offset, self._partial = 0, b""
        with suppress(UnreadableFileError):
            self._file = open_file(self._path)

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def _backwards(file: BinaryIO, end: int, max_line: int) -> Iterator[bytes]:
    """Yield what follows the last line end, and then the lines from the last to the first."""
    rest = b""
    while end > 0:
        begin = max(0, end - CHUNK)
        rest, *lines = (os.pread(file.fileno(), end - begin, begin) + rest).split(b"\n")
        for line in reversed(lines):
            yield line[:max_line]
        rest, end = rest[:max_line], begin
    yield rest
