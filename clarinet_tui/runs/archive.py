"""Pack run directories into a .tar.gz for another machine, and import them. The same runs always give the same bytes.

The tarfile module follows extended headers, links and sparse maps, and keeps their content in memory. The reader here
accepts only what `write_archive` writes, so that a hostile archive can do nothing else. Everything is checked against
the manifest before anything is written.
"""

import fcntl
import gzip
import hashlib
import os
import re
import shutil
import tarfile
import tempfile
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec

from clarinet_tui.runs.directory import (
    ANNOTATIONS,
    CONFIG,
    JOURNAL,
    MAX_CONFIG_BYTES,
    RunDirectory,
    is_valid_id,
    read_creation_time,
)
from clarinet_tui.runs.environment import describe_environment, read_environment, versions
from clarinet_tui.runs.files import (
    USER_FILE,
    ContentError,
    UnreadableFileError,
    as_input_error,
    open_file,
    parse_json,
    parse_toml,
    read_file,
)
from core.errors import InputError
from core.files import OWN_FILE, atomic_writer, create_file, sync_directory

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
MTIME = 1_577_836_800  # 2020-01-01
"""The modification time of every packed file: a recent one would make an imported run look alive."""
CHUNK = 1 << 20
BLOCK = tarfile.BLOCKSIZE
NAME = re.compile(rf"([0-9a-z]+)/({'|'.join(map(re.escape, (*PORTABLE_FILES, *CHECKPOINT_FILES)))})", re.ASCII)
MAX_BYTES = PARSED | {ANNOTATIONS: 64 << 20, "pseudo_labels.npy": 1 << 30, MANIFEST: 64 << 20}
"""Size limits of files that are read into memory as a whole."""
TEMPORARY = ".import-"
LEFTOVER_AGE = 60.0


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
            packed[run.id] = {
                name: added for name in readable[run] if (added := pack_file(run, name, patches, archive))
            }
        manifest = Manifest(clarinet=versions().get("clarinet-tui", ""), patches=patches, runs=packed)
        content = msgspec.json.format(msgspec.json.encode(manifest)) + b"\n"
        archive.addfile(_make_header(MANIFEST, len(content)), BytesIO(content))
    return manifest


def _can_read(run: RunDirectory, name: str, warn: Callable[[str], None]) -> bool:
    """Return whether there is such a file that another machine can import."""
    path = run.path / name
    try:
        if name in PARSED:
            if (content := read_file(path, PARSED[name])) is not None:
                _check_content(name, content)
        elif file := open_file(path):
            file.close()
    except (UnreadableFileError, ContentError) as error:
        warn(f"run {run.id}: left out {name}: {getattr(error, 'reason', error)}")
        return False
    if name == CONFIG and not path.exists():
        warn(f"run {run.id}: left out: has no {CONFIG}")
    return path.exists()


def _check_content(name: str, content: bytes) -> None:
    """Parse a file of settings or JSON; raise ContentError."""
    if name == CONFIG:
        parse_toml(content)
    else:
        parse_json(content, dict[str, Any])


def pack_file(run: RunDirectory, name: str, patches: bool, archive: tarfile.TarFile | None = None) -> PackedFile | None:
    """Return size and hash of a file as it is packed now, and add it to an archive; None if there is no such file.

    What is appended meanwhile is ignored.
    """
    stream: BinaryIO | None = open_file(run.path / name)
    if stream is None:
        return None
    with stream:
        size = _complete_lines_size(stream) if name in APPENDED_FILES else os.fstat(stream.fileno()).st_size
        if name == ENVIRONMENT and not patches:
            environment = read_environment(run)
            if isinstance(environment.get("git"), dict):
                environment["git"].pop("patch", None)
            content = msgspec.json.format(msgspec.json.encode(environment)) + b"\n"
            stream, size = BytesIO(content), len(content)
        part = _Part(stream.read, size)
        if archive is not None:
            archive.addfile(_make_header(f"{run.id}/{name}", size), part)
        return part.finish()


def has_patch(run: RunDirectory) -> bool:
    return bool(describe_environment(read_environment(run)).patch)


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


def _make_header(name: str, size: int) -> tarfile.TarInfo:
    header = tarfile.TarInfo(name)
    header.size, header.mtime = size, MTIME
    header.mode = 0o600 if name.rpartition("/")[2] in PRIVATE else 0o644
    return header


class _Part:
    """The next `size` bytes of a stream, which are hashed as they are read."""

    def __init__(self, read: Callable[[int], bytes], size: int) -> None:
        self._read, self._size, self._left, self._digest = read, size, size, hashlib.sha256()

    def read(self, count: int = CHUNK) -> bytes:
        content = self._read(min(count, self._left))
        self._left -= len(content)
        self._digest.update(content)
        return content

    def finish(self) -> PackedFile:
        """Read the rest, and return size and hash."""
        while self.read():
            pass
        return PackedFile(self._size, self._digest.hexdigest())


@dataclass(frozen=True)
class Limits:
    """Limits of an unpacked archive: a small file may unpack to more than any disk holds."""

    size: int = 20 << 30
    files: int = 100_000


def read_members(path: Path, limits: Limits) -> Iterator[tuple[str, _Part]]:
    """Yield the name of each member, and its content, which is readable until the next member is requested.

    Raise InputError on a wrong header before its content is read.
    """
    bytes_left, files = limits.size, 0
    try:
        stream = gzip.open(path, "rb")  # noqa: SIM115 - closed by the with statement
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    with stream:
        source = _GzipSource(path, stream)
        while (header := _read_header(source)) is not None:
            files += 1
            bytes_left -= header.size
            if files > limits.files or bytes_left < 0:
                limit = f"{limits.files} files or {limits.size / (1 << 30):g} GB"
                raise InputError(f"{path}: contains more than {limit}: if you trust it, raise --max-files and --max-gb")
            part = _Part(source.read_some, header.size)
            yield header.name, part
            part.finish()
            if source.read(-header.size % BLOCK).strip(b"\0"):
                raise InputError(f"{path}: contains data between its files")
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


def _read_header(source: _GzipSource) -> tarfile.TarInfo | None:
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


class ImportResult(NamedTuple):
    """Ids of the runs of an archive, in the order of their creation."""

    new: tuple[str, ...]
    existing: tuple[str, ...]
    """The runs that the runs directory already has, with the same content."""


def import_archive(path: Path, runs_dir: Path, limits: Limits) -> ImportResult:
    """Import all runs or none; raise InputError if one of them already exists with other content."""
    manifest = check_archive(path, limits)
    existing = _find_existing(manifest, runs_dir)
    new = {run_id: files for run_id, files in manifest.runs.items() if run_id not in existing}
    with as_input_error(runs_dir):
        runs_dir.mkdir(parents=True, exist_ok=True)
        size = sum(file.size for files in new.values() for file in files.values())
        free = shutil.disk_usage(runs_dir).free
        if size > free:
            raise InputError(f"{runs_dir}: {free >> 20} MB are free, but the runs need {size >> 20} MB")
        _remove_leftovers(runs_dir)
        folder = Path(tempfile.mkdtemp(prefix=TEMPORARY, dir=runs_dir))
        held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(held, fcntl.LOCK_EX)
            _write(path, folder, new, limits)
            _publish(folder, runs_dir, sorted(new))
        finally:
            shutil.rmtree(folder)
            os.close(held)
    return ImportResult(_in_order(runs_dir, new), _in_order(runs_dir, existing))


def _in_order(runs_dir: Path, ids: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(ids, key=lambda run_id: (read_creation_time(RunDirectory(runs_dir, run_id)), run_id)))


def _publish(folder: Path, runs_dir: Path, ids: Iterable[str]) -> None:
    """Rename the runs to their places; back again if one of them is taken."""
    with ExitStack() as on_error:
        for run_id in ids:
            if os.path.lexists(runs_dir / run_id):
                raise InputError(f"run {run_id}: was created in {runs_dir} during the import: try again")
            sync_directory(folder / run_id)
            (folder / run_id).rename(runs_dir / run_id)
            on_error.callback((runs_dir / run_id).rename, folder / run_id)
        sync_directory(runs_dir)
        on_error.pop_all()


def _remove_leftovers(runs_dir: Path) -> None:
    """Remove what killed imports have left behind: a running import holds a lock on its folder."""
    for folder in runs_dir.glob(f"{TEMPORARY}*"):
        with suppress(OSError):
            file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                is_old = time.time() - os.fstat(file).st_mtime > LEFTOVER_AGE  # its lock may not be held yet
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if is_old:
                    shutil.rmtree(folder)
            finally:
                os.close(file)


def check_archive(path: Path, limits: Limits) -> Manifest:
    """Read the whole archive without writing anything, and return its manifest if it is correct."""
    files: dict[str, PackedFile] = {}
    manifest: Manifest | None = None
    for path_in_archive, part in read_members(path, limits):
        if manifest is not None:
            raise InputError(f"{path}: {MANIFEST} is not the last file")
        if path_in_archive in files:
            raise InputError(f"{path}: contains {path_in_archive} twice")
        name = path_in_archive.rpartition("/")[2]
        content = b"".join(iter(part.read, b"")) if name in {MANIFEST, *PARSED} else b""
        files[path_in_archive] = part.finish()
        try:
            if name == MANIFEST:
                version = parse_json(content, dict[str, Any]).get("format")
                if version != FORMAT:
                    advice = f"this version reads format {FORMAT}: update Clarinet"
                    raise InputError(f"{path}: has format {version!a}, {advice}")
                manifest = parse_json(content, Manifest)
            elif name in PARSED:
                _check_content(name, content)
        except ContentError as error:
            raise InputError(f"{path}: {path_in_archive}: {error}") from None
    if manifest is None:
        raise InputError(f"{path}: contains no {MANIFEST}: it was not written by `clarinet export`")
    del files[MANIFEST]
    expected = {f"{run_id}/{name}": packed for run_id, names in manifest.runs.items() for name, packed in names.items()}
    for name in sorted(expected.keys() | files.keys()):
        if expected.get(name) != files.get(name):
            raise InputError(f"{path}: {name[:80]!a} does not match {MANIFEST}: the archive is damaged or was changed")
    for run_id, names in manifest.runs.items():
        if CONFIG not in names:
            raise InputError(f"{path}: run {run_id[:40]!a} has no {CONFIG}")
    return manifest


def _find_existing(manifest: Manifest, runs_dir: Path) -> set[str]:
    """Return the runs that already exist with the same content; raise if one has other content."""
    existing = set()
    for run_id, files in sorted(manifest.runs.items()):
        run = RunDirectory(runs_dir, run_id)
        if not os.path.lexists(run.path):
            continue
        for name, packed in files.items():
            if pack_file(run, name, manifest.patches) != packed:
                raise InputError(f"run {run_id}: already exists with another {name}: `clarinet rm {run_id}` first")
        existing.add(run_id)
    return existing


def _write(path: Path, folder: Path, new: dict[str, dict[str, PackedFile]], limits: Limits) -> None:
    """Read the archive again and write its files; check them again, because the archive may have been replaced."""
    written: dict[str, dict[str, PackedFile]] = {run_id: {} for run_id in new}
    for path_in_archive, part in read_members(path, limits):
        run_id, _, name = path_in_archive.partition("/")
        if run_id not in new:
            continue
        target = folder / path_in_archive
        target.parent.mkdir(mode=0o755, exist_ok=True)
        with os.fdopen(create_file(target, 0o600 if name in PRIVATE else OWN_FILE), "wb") as file:
            shutil.copyfileobj(part, file, CHUNK)
            written[run_id][name] = part.finish()
            file.flush()
            os.fsync(file.fileno())
        os.utime(target, (MTIME, MTIME))
    if written != new:
        raise InputError(f"{path}: was changed while it was read")
