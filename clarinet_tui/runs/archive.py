"""Pack run directories into a .tar.gz for another machine. The same runs always give the same bytes."""

import gzip
import hashlib
import os
import tarfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from clarinet_tui.runs.atomic_files import USER_FILE, as_input_error, atomic_writer
from clarinet_tui.runs.directory import ANNOTATIONS, CONFIG, EPOCH, JOURNAL, MAX_CONFIG_BYTES, RunDirectory
from clarinet_tui.runs.environment import read_environment, versions
from clarinet_tui.runs.run_files import (
    ContentError,
    UnreadableFileError,
    open_file,
    parse_json,
    parse_toml,
    read_file,
)
from clarinet_tui.runs.typed_command import hide_secrets
from core.errors import InputError

FORMAT = 1
MANIFEST = "manifest.json"
ENVIRONMENT, LOG, STAGE1 = "environment.json", "worker.log", "stage1.json"
PORTABLE_FILES = (ANNOTATIONS, CONFIG, ENVIRONMENT, JOURNAL, "pseudo_labels.npy", STAGE1, LOG)
CHECKPOINT_FILES = ("checkpoint.previous.pt", "checkpoint.pt", "model.safetensors")
APPENDED_FILES = frozenset({ANNOTATIONS, JOURNAL, LOG})
"""Only complete lines of these are packed, because the run may still append to them."""
PARSED = {CONFIG: MAX_CONFIG_BYTES, ENVIRONMENT: 16 << 20, STAGE1: 1 << 16}
"""Files that are parsed as a whole, and their largest size: others are neither exported nor imported."""
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
    runs: Sequence[RunDirectory],
    out: Path,
    *,
    checkpoints: bool = False,
    patches: bool = True,
    warn: Callable[[str], None] = lambda message: None,
) -> Manifest:
    """Write the runs to `out` atomically, without files that cannot be read and runs without readable settings."""
    names = sorted((*PORTABLE_FILES, *CHECKPOINT_FILES) if checkpoints else PORTABLE_FILES)
    readable = {run: [name for name in names if _can_read(run, name, warn)] for run in runs}
    chosen = [run for run in sorted(runs, key=lambda run: run.id) if CONFIG in readable[run]]
    if not chosen:
        raise InputError(f"none of the {len(runs)} runs has a {CONFIG} that can be read")
    packed: dict[str, dict[str, PackedFile]] = {}
    with (
        as_input_error(out),
        atomic_writer(out, USER_FILE) as file,
        gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as stream,  # without date, user and file name
        tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as archive,
    ):
        for run in chosen:
            packed[run.id] = {name: added for name in readable[run] if (added := _add(archive, run, name, patches))}
        manifest = Manifest(clarinet=versions().get("clarinet-tui", ""), patches=patches, runs=packed)
        content = msgspec.json.format(msgspec.json.encode(manifest)) + b"\n"
        archive.addfile(_header(MANIFEST, len(content)), BytesIO(content))
    return manifest


def _can_read(run: RunDirectory, name: str, warn: Callable[[str], None]) -> bool:
    """Return whether there is such a file that another machine can import."""
    try:
        exists = _check_file(run, name)
    except (UnreadableFileError, ContentError) as error:
        reason = error.reason if isinstance(error, UnreadableFileError) else error
        warn(f"run {run.id}: left out {name}: {reason}")
        return False
    if name == CONFIG and not exists:
        warn(f"run {run.id}: left out: has no {CONFIG}")
    return exists


def _check_file(run: RunDirectory, name: str) -> bool:
    """Return whether the file exists; raise UnreadableFileError or ContentError if it cannot be imported."""
    if name in PARSED:
        content = read_file(run.path / name, PARSED[name])
        return content is not None and parse_file(name, content) is not None
    file = open_file(run.path / name)
    if file is not None:
        file.close()
    return file is not None


def parse_file(name: str, content: bytes) -> dict[str, Any]:
    """Parse a file of settings or JSON; raise ContentError."""
    parsed: dict[str, Any] = parse_toml(content) if name == CONFIG else parse_json(content, dict[str, Any])
    return parsed


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
    file = open_file(run.path / name)
    if file is None:
        yield None
        return
    with file:
        content = _without_secrets(run, patches) if name == ENVIRONMENT else None
        if content is not None:
            yield BytesIO(content), len(content)
        else:
            yield file, _complete_lines_size(file) if name in APPENDED_FILES else os.fstat(file.fileno()).st_size


def has_patch(run: RunDirectory) -> bool:
    git = read_environment(run).get("git")
    return isinstance(git, dict) and bool(git.get("patch"))


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


def _without_secrets(run: RunDirectory, patches: bool) -> bytes | None:
    """Return environment.json without secret options, and without the patch unless asked; None if nothing is left out.

    Older versions have recorded the command of --on-alarm, which may contain a token.
    """
    environment = read_environment(run)
    command = environment.get("command")
    if not isinstance(command, list) or not all(isinstance(word, str) for word in command):
        command = []
    shown = hide_secrets(command)
    if patches and shown == command:
        return None
    if shown != command:
        environment["command"] = shown
    if not patches and isinstance(environment.get("git"), dict):
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
