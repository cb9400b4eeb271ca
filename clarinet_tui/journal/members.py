"""A strict reader of archives of runs: plain files of a run's own names, and nothing else.

Python's own reader follows extended headers, links and sparse maps, and keeps what they say in memory. This one takes
only what `pack` writes, so that there is nothing an archive could do but bring runs.
"""

import gzip
import re
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from clarinet_tui.journal.archive import CHECKPOINTS, CHUNK, ENVIRONMENT, MANIFEST, PORTABLE
from clarinet_tui.journal.directory import ANNOTATIONS, CONFIG, LARGEST_CONFIG, valid_id
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
UNREADABLE = (EOFError, zlib.error, gzip.BadGzipFile, tarfile.HeaderError, UnicodeDecodeError)


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
    with _opened(path) as stream:
        while (header := _header(path, stream)) is not None:
            files += 1
            left -= header.size
            if files > limits.files or left < 0:
                most = f"{limits.files} files or {limits.size / (1 << 30):g} GB"
                raise InputError(f"{path}: holds more than {most}: if you trust it, give --max-files and --max-gb")
            chunks = _chunks(path, stream, header.size)
            yield Member(header.name, header.size, chunks)
            for _ in chunks:
                pass
        rest = stream.read(CHUNK + 1)
        if len(rest) > CHUNK or rest.strip(b"\0"):
            raise InputError(f"{path}: goes on after its end")


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    try:
        with gzip.open(path, "rb") as stream:
            yield cast(BinaryIO, stream)
    except UNREADABLE as error:
        raise InputError(f"{path}: is no archive of runs, or cut short or damaged ({error})") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None


def _header(path: Path, stream: BinaryIO) -> tarfile.TarInfo | None:
    """The next member's; None at the end."""
    block = stream.read(BLOCK)
    if len(block) < BLOCK:
        raise EOFError("it ends too early")
    if not block.strip(b"\0"):
        return None
    header = tarfile.TarInfo.frombuf(block, "ascii", "strict")
    if header.type not in (tarfile.REGTYPE, tarfile.AREGTYPE):
        raise InputError(f"{path}: {header.name[:80]!a} is no plain file: links, devices and folders are refused")
    match = NAME.fullmatch(header.name)
    if header.name != MANIFEST and not (match and valid_id(match[1])):
        raise InputError(f"{path}: {header.name[:80]!a} is no file of a run")
    if not 0 <= header.size <= LARGEST.get(header.name.rpartition("/")[2], header.size):
        raise InputError(f"{path}: {header.name} is larger than such a file ever is")
    return header


def _chunks(path: Path, stream: BinaryIO, size: int) -> Iterator[bytes]:
    left = size
    while left > 0:
        chunk = stream.read(min(left, CHUNK))
        if not chunk:
            raise EOFError("it ends too early")
        left -= len(chunk)
        yield chunk
    if stream.read(-size % BLOCK).strip(b"\0"):
        raise InputError(f"{path}: has something between its files")
