"""A strict reader of archives of runs: plain files of a run's own names, and nothing else.

Python's own reader follows extended headers, links and sparse maps, and keeps what they say in memory. This one takes
only what `pack` writes, so that there is nothing an archive could do but bring runs.
"""

import gzip
import re
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from clarinet_tui.runs.archive import CHECKPOINTS, CHUNK, ENVIRONMENT, MANIFEST, PORTABLE
from clarinet_tui.runs.directory import ANNOTATIONS, CONFIG, LARGEST_CONFIG, valid_id
from core.errors import InputError

BLOCK = tarfile.BLOCKSIZE
NAME = re.compile(rf"([0-9a-z]+)/({'|'.join(map(re.escape, (*PORTABLE, *CHECKPOINTS)))})", re.ASCII)
LARGEST = {
    CONFIG: LARGEST_CONFIG,
    ENVIRONMENT: 16 << 20,
    ANNOTATIONS: 64 << 20,
    "stage1.json": 1 << 16,
    "pseudo_labels.npy": 1 << 30,
    MANIFEST: 64 << 20,
}
"""Bytes of files that are read as a whole."""


@dataclass(frozen=True)
class Limits:
    """What an archive may bring: a small one can be made to grow beyond any disk."""

    size: int = 20 << 30
    files: int = 100_000


@dataclass(frozen=True)
class Member:
    name: str
    """`manifest.json`, or a valid id, a slash, and the name of a file that a run has."""
    size: int
    chunks: Iterator[bytes]
    """Its content; gone when the next member is asked for."""


def members(path: Path, limits: Limits) -> Iterator[Member]:
    """Each is checked before what it announces is read; an InputError says what is wrong."""
    left, files = limits.size, 0
    with _Source(path) as source:
        while (header := _header(source)) is not None:
            files += 1
            left -= header.size
            if files > limits.files or left < 0:
                most = f"{limits.files} files or {limits.size / (1 << 30):g} GB"
                raise InputError(f"{path}: holds more than {most}: if you trust it, give --max-files and --max-gb")
            chunks = _chunks(source, header.size)
            yield Member(header.name, header.size, chunks)
            for _ in chunks:
                pass
        rest = source.read(CHUNK + 1)
        if len(rest) > CHUNK or rest.strip(b"\0"):
            raise InputError(f"{path}: goes on after its end")


class _Source:
    """What is inside the compression. Whatever is wrong with it is an InputError, whoever reads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._stream = gzip.open(path, "rb")  # noqa: SIM115 - closed by __exit__
        except OSError as error:
            raise InputError(f"{path}: {error.strerror or error}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def read(self, count: int) -> bytes:
        try:
            return self._stream.read(count)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise self.damaged(error) from None
        except OSError as error:
            raise InputError(f"{self.path}: {error.strerror or error}") from None

    def some(self, count: int) -> bytes:
        """At least one byte of them."""
        content = self.read(count)
        if count and not content:
            raise self.damaged("it ends too early")
        return content

    def damaged(self, why: object) -> InputError:
        return InputError(f"{self.path}: is no archive of runs, or cut short or damaged ({why})")


def _header(source: _Source) -> tarfile.TarInfo | None:
    """The next member's; None at the end."""
    block = source.some(BLOCK)
    if not block.strip(b"\0") and len(block) == BLOCK:
        return None
    try:
        header = tarfile.TarInfo.frombuf(block, "ascii", "strict")
    except (tarfile.HeaderError, UnicodeDecodeError) as error:
        raise source.damaged(error) from None
    if header.type not in (tarfile.REGTYPE, tarfile.AREGTYPE):
        told = f"{header.name[:80]!a} is no plain file: links, devices and folders are refused"
        raise InputError(f"{source.path}: {told}")
    match = NAME.fullmatch(header.name)
    if header.name != MANIFEST and not (match and valid_id(match[1])):
        raise InputError(f"{source.path}: {header.name[:80]!a} is no file of a run")
    if not 0 <= header.size <= LARGEST.get(header.name.rpartition("/")[2], header.size):
        raise InputError(f"{source.path}: {header.name} is larger than such a file ever is")
    return header


def _chunks(source: _Source, size: int) -> Iterator[bytes]:
    left = size
    while left > 0:
        chunk = source.some(min(left, CHUNK))
        left -= len(chunk)
        yield chunk
    if source.read(-size % BLOCK).strip(b"\0"):
        raise InputError(f"{source.path}: has something between its files")
