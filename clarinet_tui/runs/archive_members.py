"""A strict reader of archives that accepts only regular files with the names of a run's files.

The tarfile module follows extended headers, links and sparse maps, and keeps their content in memory. This reader
accepts only what `write_archive` writes, so that a hostile archive can do nothing else.
"""

import gzip
import re
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from clarinet_tui.runs.archive import CHECKPOINT_FILES, CHUNK, MANIFEST, PARSED, PORTABLE_FILES
from clarinet_tui.runs.directory import ANNOTATIONS, is_valid_id
from core.errors import InputError

BLOCK = tarfile.BLOCKSIZE
NAME = re.compile(rf"([0-9a-z]+)/({'|'.join(map(re.escape, (*PORTABLE_FILES, *CHECKPOINT_FILES)))})", re.ASCII)
MAX_BYTES = PARSED | {
    ANNOTATIONS: 64 << 20,
    "pseudo_labels.npy": 1 << 30,
    MANIFEST: 64 << 20,
}
"""Size limits of files that are read into memory as a whole."""


@dataclass(frozen=True)
class Limits:
    """Limits of an unpacked archive: a small file may unpack to more than any disk holds."""

    size: int = 20 << 30
    files: int = 100_000


@dataclass(frozen=True)
class Member:
    name: str
    """`manifest.json`, or `<run id>/<name of a run's file>`."""
    size: int
    chunks: Iterator[bytes]
    """The content, readable until the next member is requested."""


def read_members(path: Path, limits: Limits) -> Iterator[Member]:
    """Yield the members; raise InputError on a wrong header before its content is read."""
    bytes_left, files = limits.size, 0
    try:
        stream = gzip.open(path, "rb")  # noqa: SIM115 - closed by the with statement
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    with stream:
        source = _GzipSource(path, stream)
        while (header := _header(source)) is not None:
            files += 1
            bytes_left -= header.size
            if files > limits.files or bytes_left < 0:
                limit = f"{limits.files} files or {limits.size / (1 << 30):g} GB"
                raise InputError(f"{path}: contains more than {limit}: if you trust it, raise --max-files and --max-gb")
            chunks = _chunks(source, header.size)
            yield Member(header.name, header.size, chunks)
            for _ in chunks:
                pass
        padding = source.read(CHUNK + 1)
        if len(padding) > CHUNK or padding.strip(b"\0"):
            raise InputError(f"{path}: contains data after the end of the archive")


@dataclass(frozen=True)
class _GzipSource:
    """The decompressed content; every reading error is an InputError."""

    path: Path
    stream: gzip.GzipFile

    def read(self, count: int) -> bytes:
        try:
            return self.stream.read(count)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise self.damaged(error) from None
        except OSError as error:
            raise InputError(f"{self.path}: {error.strerror or error}") from None

    def read_some(self, count: int) -> bytes:
        """Read at least one byte and at most `count`."""
        content = self.read(count)
        if count and not content:
            raise self.damaged("unexpected end of file")
        return content

    def damaged(self, reason: object) -> InputError:
        return InputError(f"{self.path}: is not an archive of runs, or is damaged or incomplete ({reason})")


def _header(source: _GzipSource) -> tarfile.TarInfo | None:
    """Return the header of the next member; None at the end."""
    block = source.read_some(BLOCK)
    if not block.strip(b"\0") and len(block) == BLOCK:
        return None
    try:
        header = tarfile.TarInfo.frombuf(block, "ascii", "strict")
    except (tarfile.HeaderError, UnicodeDecodeError) as error:
        raise source.damaged(error) from None
    if header.type not in (tarfile.REGTYPE, tarfile.AREGTYPE):
        reason = "is not a regular file: links, devices and directories are refused"
        raise InputError(f"{source.path}: {header.name[:80]!a} {reason}")
    match = NAME.fullmatch(header.name)
    if header.name != MANIFEST and not (match and is_valid_id(match[1])):
        raise InputError(f"{source.path}: {header.name[:80]!a} is not a file of a run")
    if not 0 <= header.size <= MAX_BYTES.get(header.name.rpartition("/")[2], header.size):
        raise InputError(f"{source.path}: {header.name} is too large")
    return header


def _chunks(source: _GzipSource, size: int) -> Iterator[bytes]:
    bytes_left = size
    while bytes_left > 0:
        chunk = source.read_some(min(bytes_left, CHUNK))
        bytes_left -= len(chunk)
        yield chunk
    if source.read(-size % BLOCK).strip(b"\0"):
        raise InputError(f"{source.path}: contains data between its files")
