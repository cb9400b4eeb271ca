"""A file of lines that others append to, rotate, cut, or have not made yet; read in bounded memory from its end on."""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Self

CHUNK = 1 << 16


class Growing:
    """Of a line longer than `longest` bytes only its beginning is kept. What is no ordinary file is not there."""

    def __init__(self, path: Path, longest: int) -> None:
        self._path, self._longest = path, longest
        self._file: BinaryIO | None = None
        self._read_to = 0
        self._torn = b""
        """The last line while it has no end."""
        self._open()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def before(self) -> Iterator[bytes]:
        """The lines that are there now, last first; `new` goes on after them."""
        if self._file is None:
            return iter(())
        self._read_to = os.fstat(self._file.fileno()).st_size
        lines = _backwards(self._file, self._read_to, self._longest)
        self._torn = next(lines)
        return lines

    def new(self) -> Iterator[bytes]:
        """The lines that came since. Of a file that was exchanged the rest is read first, then the other one."""
        exchanged = self._file is not None and self._exchanged()
        yield from self._whole_lines()
        if self._file is None or exchanged:
            yield from self.torn()
            self._close()
            self._open()
            yield from self._whole_lines()

    def torn(self) -> Iterator[bytes]:
        """The last line, if it has no end; for when nothing more is to come."""
        torn, self._torn = self._torn, b""
        if torn:
            yield torn

    def _whole_lines(self) -> Iterator[bytes]:
        if self._file is None:
            return
        if os.fstat(self._file.fileno()).st_size < self._read_to:
            self._read_to, self._torn = 0, b""
        while chunk := self._next_chunk(self._file):
            *lines, rest = chunk.split(b"\n")
            for line in lines:
                whole, self._torn = self._torn + line, b""
                yield whole[: self._longest]
            self._torn = (self._torn + rest)[: self._longest]

    def _next_chunk(self, file: BinaryIO) -> bytes:
        file.seek(self._read_to)
        chunk = file.read(CHUNK)
        self._read_to += len(chunk)
        return chunk

    def _exchanged(self) -> bool:
        """Whether another file has its name. One that was only moved away may still be written to."""
        assert self._file is not None
        mine = os.fstat(self._file.fileno())
        try:
            now = self._path.stat()
        except OSError:
            return False
        return (now.st_dev, now.st_ino) != (mine.st_dev, mine.st_ino)

    def _open(self) -> None:
        self._read_to, self._torn = 0, b""
        with suppress(OSError):
            # Not blocking: a pipe of this name must not hold us up.
            number = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
            if stat.S_ISREG(os.fstat(number).st_mode):
                self._file = os.fdopen(number, "rb", buffering=0)
            else:
                os.close(number)

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def _backwards(file: BinaryIO, end: int, longest: int) -> Iterator[bytes]:
    """Lines from the last to the first; the first that is given is what follows the last line's end."""
    rest = b""
    while end > 0:
        begin = max(0, end - CHUNK)
        file.seek(begin)
        rest, *lines = (file.read(end - begin) + rest).split(b"\n")
        for line in reversed(lines):
            yield line[:longest]
        rest, end = rest[:longest], begin
    yield rest
