"""Runs as one file for another machine: a .tar.gz of their directories. The same runs give the same bytes."""

import gzip
import hashlib
import os
import stat
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import msgspec

from clarinet_tui.runs.atomic_files import replacing, told
from clarinet_tui.runs.directory import ANNOTATIONS, CONFIG, EPOCH, JOURNAL, RunDirectory
from clarinet_tui.runs.environment import read_environment, versions
from core.errors import InputError

FORMAT = 1
MANIFEST = "manifest.json"
ENVIRONMENT, LOG = "environment.json", "worker.log"
PORTABLE = (ANNOTATIONS, CONFIG, ENVIRONMENT, JOURNAL, "pseudo_labels.npy", "stage1.json", LOG)
CHECKPOINTS = ("checkpoint.previous.pt", "checkpoint.pt")
GROWING = frozenset({ANNOTATIONS, JOURNAL, LOG})
"""Of these the lines that are whole by now are packed: the run may go on meanwhile."""
PRIVATE = frozenset({ENVIRONMENT, LOG})
MOMENT = int(EPOCH.timestamp())
"""When every packed file was changed: not when it really was, so that no run looks alive because it was copied."""
CHUNK = 1 << 20


class Packed(msgspec.Struct, frozen=True):
    size: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What an archive holds; its last member."""

    format: int = FORMAT
    clarinet: str = ""
    """The version that has packed it."""
    patches: bool = True
    """Whether environment.json has the uncommitted changes of the user's folder."""
    runs: dict[str, dict[str, Packed]]


def pack(runs: Sequence[RunDirectory], out: Path, *, checkpoints: bool = False, patches: bool = True) -> Manifest:
    """Write the runs to `out`, which is there whole or not at all."""
    names = sorted((*PORTABLE, *CHECKPOINTS) if checkpoints else PORTABLE)
    packed: dict[str, dict[str, Packed]] = {}
    with told(out), replacing(out) as file, _compressed(file) as archive:
        for run in sorted(runs, key=lambda run: run.id):
            packed[run.id] = {name: one for name in names if (one := _add(archive, run, name, patches))}
            if CONFIG not in packed[run.id]:
                raise InputError(f"run {run.id}: its {CONFIG} is gone")
        manifest = Manifest(clarinet=versions().get("clarinet-tui", ""), patches=patches, runs=packed)
        content = msgspec.json.format(msgspec.json.encode(manifest)) + b"\n"
        archive.addfile(_header(MANIFEST, len(content)), BytesIO(content))
    return manifest


def fingerprint(run: RunDirectory, name: str, patches: bool) -> Packed | None:
    """A file of a run as it would be packed now; None if there is none."""
    with content_of(run, name, patches) as found:
        if found is None:
            return None
        stream, size = found
        hashed = _Hashed(stream)
        left = size
        while left > 0 and (chunk := hashed.read(min(left, CHUNK))):
            left -= len(chunk)
        return Packed(size - left, hashed.hex())


@contextmanager
def content_of(run: RunDirectory, name: str, patches: bool) -> Iterator[tuple[BinaryIO, int] | None]:
    """What is packed of a file, and how many bytes that is. It may grow or be exchanged meanwhile: that is not seen."""
    file = _open(run.path / name)
    if file is None:
        yield None
        return
    with file:
        if name == ENVIRONMENT and not patches:
            content = _without_patch(run)
            yield BytesIO(content), len(content)
        else:
            yield file, _whole_lines(file) if name in GROWING else os.fstat(file.fileno()).st_size


def has_patch(run: RunDirectory) -> bool:
    git = read_environment(run).get("git")
    return isinstance(git, dict) and bool(git.get("patch"))


def _open(path: Path) -> BinaryIO | None:
    """Ordinary files only, and none through a link."""
    try:
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        return None
    return os.fdopen(number, "rb")


def _whole_lines(file: BinaryIO) -> int:
    """Bytes up to the end of the last line that has one."""
    end = os.fstat(file.fileno()).st_size
    while end > 0:
        begin = max(0, end - CHUNK)
        found = os.pread(file.fileno(), end - begin, begin).rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        end = begin
    return 0


def _without_patch(run: RunDirectory) -> bytes:
    said = read_environment(run)
    if isinstance(said.get("git"), dict):
        said["git"] = {name: value for name, value in said["git"].items() if name != "patch"}
    return msgspec.json.format(msgspec.json.encode(said)) + b"\n"


@contextmanager
def _compressed(file: BinaryIO) -> Iterator[tarfile.TarFile]:
    """Nothing of today's date, user or file name goes in."""
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as archive,
    ):
        yield archive


def _add(archive: tarfile.TarFile, run: RunDirectory, name: str, patches: bool) -> Packed | None:
    with content_of(run, name, patches) as found:
        if found is None:
            return None
        stream, size = found
        hashed = _Hashed(stream)
        archive.addfile(_header(f"{run.id}/{name}", size), hashed)  # type: ignore[arg-type]  # it only reads
        return Packed(size, hashed.hex())


def _header(name: str, size: int) -> tarfile.TarInfo:
    header = tarfile.TarInfo(name)
    header.size, header.mtime = size, MOMENT
    header.mode = 0o600 if name.rpartition("/")[2] in PRIVATE else 0o644
    return header


class _Hashed:
    """A stream that hashes what is read of it."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self._digest = stream, hashlib.sha256()

    def read(self, count: int) -> bytes:
        content = self._stream.read(count)
        self._digest.update(content)
        return content

    def hex(self) -> str:
        return self._digest.hexdigest()
