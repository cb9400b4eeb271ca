"""Read the lines of a file that others append to, rotate, truncate or create later, in bounded memory."""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Self

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
        replaced = self._file is not None and self._is_replaced()
        yield from self._complete_lines()
        if self._file is None or replaced:
            yield from self.read_partial()
            self._close()
            self._open()
            yield from self._complete_lines()

    def read_ends(self, size: int) -> bytes:
        """Return the first and the last `size` bytes of the file."""
        if self._file is None:
            return b""
        descriptor = self._file.fileno()
        start = max(0, os.fstat(descriptor).st_size - size)
        return os.pread(descriptor, size, 0) + b"\n" + os.pread(descriptor, size, start)

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
        while chunk := self._next_chunk(self._file):
            *lines, rest = chunk.split(b"\n")
            for line in lines:
                complete, self._partial = self._partial + line, b""
                yield complete[: self._max_line]
            self._partial = (self._partial + rest)[: self._max_line]

    def _next_chunk(self, file: BinaryIO) -> bytes:
        file.seek(self._offset)
        chunk = file.read(CHUNK)
        self._offset += len(chunk)
        return chunk

    def _is_replaced(self) -> bool:
        """Return whether the path names another file; a file that was only moved may still grow."""
        assert self._file is not None
        opened = os.fstat(self._file.fileno())
        try:
            current = self._path.stat()
        except OSError:
            return False
        return not os.path.samestat(current, opened)

    def _open(self) -> None:
        self._offset, self._partial = 0, b""
        with suppress(OSError):
            # O_NONBLOCK: opening a named pipe must not block.
            number = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
            if stat.S_ISREG(os.fstat(number).st_mode):
                self._file = os.fdopen(number, "rb", buffering=0)
            else:
                os.close(number)

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def _backwards(file: BinaryIO, end: int, max_line: int) -> Iterator[bytes]:
    """Yield what follows the last line end, and then the lines from the last to the first."""
    rest = b""
    while end > 0:
        begin = max(0, end - CHUNK)
        file.seek(begin)
        rest, *lines = (file.read(end - begin) + rest).split(b"\n")
        for line in reversed(lines):
            yield line[:max_line]
        rest, end = rest[:max_line], begin
    yield rest
