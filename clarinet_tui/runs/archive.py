"""Pack run directories into a .tar.gz for another machine. The same runs always give the same bytes."""

import gzip
import hashlib
import os
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import msgspec

from clarinet_tui.runs.atomic_files import as_input_error, atomic_writer, open_regular
from clarinet_tui.runs.directory import ANNOTATIONS, CONFIG, EPOCH, JOURNAL, RunDirectory
from clarinet_tui.runs.environment import read_environment, versions
from core.errors import InputError

FORMAT = 1
MANIFEST = "manifest.json"
ENVIRONMENT, LOG = "environment.json", "worker.log"
PORTABLE_FILES = (ANNOTATIONS, CONFIG, ENVIRONMENT, JOURNAL, "pseudo_labels.npy", "stage1.json", LOG)
CHECKPOINT_FILES = ("checkpoint.previous.pt", "checkpoint.pt")
APPENDED_FILES = frozenset({ANNOTATIONS, JOURNAL, LOG})
"""Only complete lines of these are packed, because the run may still append to them."""
PRIVATE = frozenset({ENVIRONMENT, LOG})
"""Only the user may read these: they may contain secrets."""
MTIME = int(EPOCH.timestamp())
"""The modification time of every packed file: a recent one would make an imported run look alive."""
CHUNK = 1 << 20


class PackedFile(msgspec.Struct, frozen=True):
    """Size and hash of a file in an archive."""

    size: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The list of an archive's files; its last member."""

    format: int = FORMAT
    clarinet: str = ""
    """The version that wrote the archive."""
    patches: bool = True
    """Whether environment.json contains uncommitted changes to the code."""
    runs: dict[str, dict[str, PackedFile]]


def write_archive(
    runs: Sequence[RunDirectory], out: Path, *, checkpoints: bool = False, patches: bool = True
) -> Manifest:
    """Write the runs to `out` atomically."""
    names = sorted((*PORTABLE_FILES, *CHECKPOINT_FILES) if checkpoints else PORTABLE_FILES)
    packed: dict[str, dict[str, PackedFile]] = {}
    with (
        as_input_error(out),
        atomic_writer(out) as file,
        gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as stream,  # without date, user and file name
        tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as archive,
    ):
        for run in sorted(runs, key=lambda run: run.id):
            packed[run.id] = {name: added for name in names if (added := _add(archive, run, name, patches))}
            if CONFIG not in packed[run.id]:
                raise InputError(f"run {run.id}: its {CONFIG} is missing")
        manifest = Manifest(clarinet=versions().get("clarinet-tui", ""), patches=patches, runs=packed)
        content = msgspec.json.format(msgspec.json.encode(manifest)) + b"\n"
        archive.addfile(_header(MANIFEST, len(content)), BytesIO(content))
    return manifest


def fingerprint(run: RunDirectory, name: str, patches: bool) -> PackedFile | None:
    """Return size and hash of a file as it would be packed now; None if there is no such file."""
    with _open_content(run, name, patches) as content:
        if content is None:
            return None
        stream, size = content
        hashed = _HashingReader(stream)
        remaining = size
        while remaining > 0 and (chunk := hashed.read(min(remaining, CHUNK))):
            remaining -= len(chunk)
        return PackedFile(size - remaining, hashed.digest.hexdigest())


@contextmanager
def _open_content(run: RunDirectory, name: str, patches: bool) -> Iterator[tuple[BinaryIO, int] | None]:
    """Yield a stream and the number of bytes to pack; later changes to the file are ignored."""
    file = _open(run.path / name)
    if file is None:
        yield None
        return
    with file:
        if name == ENVIRONMENT and not patches:
            content = _without_patch(run)
            yield BytesIO(content), len(content)
        else:
            yield file, _complete_lines_size(file) if name in APPENDED_FILES else os.fstat(file.fileno()).st_size


def has_patch(run: RunDirectory) -> bool:
    git = read_environment(run).get("git")
    return isinstance(git, dict) and bool(git.get("patch"))


def _open(path: Path) -> BinaryIO | None:
    try:
        file = open_regular(path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    return None if file is None else os.fdopen(file, "rb")


def _complete_lines_size(file: BinaryIO) -> int:
    """Return the number of bytes up to the last line end."""
    end = os.fstat(file.fileno()).st_size
    while end > 0:
        begin = max(0, end - CHUNK)
        newline = os.pread(file.fileno(), end - begin, begin).rfind(b"\n")
        if newline >= 0:
            return begin + newline + 1
        end = begin
    return 0


def _without_patch(run: RunDirectory) -> bytes:
    environment = read_environment(run)
    if isinstance(environment.get("git"), dict):
        environment["git"] = {name: value for name, value in environment["git"].items() if name != "patch"}
    return msgspec.json.format(msgspec.json.encode(environment)) + b"\n"


def _add(archive: tarfile.TarFile, run: RunDirectory, name: str, patches: bool) -> PackedFile | None:
    with _open_content(run, name, patches) as content:
        if content is None:
            return None
        stream, size = content
        hashed = _HashingReader(stream)
        archive.addfile(_header(f"{run.id}/{name}", size), hashed)  # type: ignore[arg-type]  # addfile only calls read
        return PackedFile(size, hashed.digest.hexdigest())


def _header(name: str, size: int) -> tarfile.TarInfo:
    header = tarfile.TarInfo(name)
    header.size, header.mtime = size, MTIME
    header.mode = 0o600 if name.rpartition("/")[2] in PRIVATE else 0o644
    return header


class _HashingReader:
    """A stream that hashes the bytes read from it."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self.digest = stream, hashlib.sha256()

    def read(self, count: int) -> bytes:
        content = self._stream.read(count)
        self.digest.update(content)
        return content
