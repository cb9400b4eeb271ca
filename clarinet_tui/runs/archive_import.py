"""Import runs from an archive, which is checked against its manifest before anything is written."""

import fcntl
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clarinet_tui.runs.archive import (
    FORMAT,
    MANIFEST,
    MTIME,
    PARSED,
    PRIVATE,
    Manifest,
    PackedFile,
    fingerprint,
    parse_file,
)
from clarinet_tui.runs.archive_members import Limits, Member, read_members
from clarinet_tui.runs.atomic_files import as_input_error, create_file, sync_directory
from clarinet_tui.runs.directory import CONFIG, RunDirectory
from clarinet_tui.runs.run_files import ContentError, parse_json
from core.errors import InputError
from core.files import OWN_FILE

DEFAULT_LIMITS = Limits()
TEMPORARY = ".import-"
LEFTOVER_AGE = 60.0


@dataclass(frozen=True)
class ImportResult:
    """Ids of the runs of an archive."""

    new: tuple[str, ...]
    existing: tuple[str, ...]
    """The runs that the runs directory already has, with the same content."""


def import_archive(path: Path, runs_dir: Path, limits: Limits = DEFAULT_LIMITS) -> ImportResult:
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
    return ImportResult(tuple(sorted(new)), tuple(sorted(existing)))


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


def check_archive(path: Path, limits: Limits = DEFAULT_LIMITS) -> Manifest:
    """Read the whole archive without writing anything, and return its manifest if it is correct."""
    files: dict[str, PackedFile] = {}
    manifest: Manifest | None = None
    for member in read_members(path, limits):
        if manifest is not None:
            raise InputError(f"{path}: {MANIFEST} is not the last file")
        if member.name in files:
            raise InputError(f"{path}: contains {member.name} twice")
        chunks: list[bytes] = []
        name = member.name.rpartition("/")[2]
        files[member.name] = _read_hashed(member, chunks.append if name in {MANIFEST, *PARSED} else len)
        if name == MANIFEST:
            manifest = _decode_manifest(path, b"".join(chunks))
        elif name in PARSED:
            with _naming(path, member.name):
                parse_file(name, b"".join(chunks))
    if manifest is None:
        raise InputError(f"{path}: contains no {MANIFEST}: it was not written by `clarinet export`")
    del files[MANIFEST]
    _check_manifest(path, manifest, files)
    return manifest


def _read_hashed(member: Member, process: Callable[[bytes], object]) -> PackedFile:
    digest = hashlib.sha256()
    for chunk in member.chunks:
        digest.update(chunk)
        process(chunk)
    return PackedFile(member.size, digest.hexdigest())


def _decode_manifest(path: Path, content: bytes) -> Manifest:
    with _naming(path, MANIFEST):
        version = parse_json(content, dict[str, Any]).get("format")
        if version != FORMAT:
            raise InputError(f"{path}: has format {version!a}, this version reads format {FORMAT}: update Clarinet")
        manifest: Manifest = parse_json(content, Manifest)
    return manifest


@contextmanager
def _naming(path: Path, name: str) -> Iterator[None]:
    """Name the file of the archive whose content is refused."""
    try:
        yield
    except ContentError as error:
        raise InputError(f"{path}: {name}: {error}") from None


def _check_manifest(path: Path, manifest: Manifest, actual: dict[str, PackedFile]) -> None:
    expected = {f"{run_id}/{name}": packed for run_id, files in manifest.runs.items() for name, packed in files.items()}
    for name in sorted(expected.keys() | actual.keys()):
        if expected.get(name) != actual.get(name):
            raise InputError(f"{path}: {name[:80]!a} does not match {MANIFEST}: the archive is damaged or was changed")
    for run_id, files in manifest.runs.items():
        if CONFIG not in files:
            raise InputError(f"{path}: run {run_id[:40]!a} has no {CONFIG}")


def _find_existing(manifest: Manifest, runs_dir: Path) -> set[str]:
    """Return the runs that already exist with the same content; raise if one has other content."""
    existing = set()
    for run_id, files in sorted(manifest.runs.items()):
        run = RunDirectory(runs_dir, run_id)
        if not os.path.lexists(run.path):
            continue
        for name, packed in files.items():
            if fingerprint(run, name, manifest.patches) != packed:
                raise InputError(f"run {run_id}: already exists with another {name}: `clarinet rm {run_id}` first")
        existing.add(run_id)
    return existing


def _write(path: Path, folder: Path, new: dict[str, dict[str, PackedFile]], limits: Limits) -> None:
    """Read the archive again and write its files; check them again, because the archive may have been replaced."""
    written: dict[str, dict[str, PackedFile]] = {run_id: {} for run_id in new}
    for member in read_members(path, limits):
        run_id, _, name = member.name.partition("/")
        if run_id not in new:
            continue
        target = folder / member.name
        target.parent.mkdir(mode=0o755, exist_ok=True)
        with os.fdopen(create_file(target, 0o600 if name in PRIVATE else OWN_FILE), "wb") as file:
            written[run_id][name] = _read_hashed(member, file.write)
            file.flush()
            os.fsync(file.fileno())
        os.utime(target, (MTIME, MTIME))
    if written != new:
        raise InputError(f"{path}: was changed while it was read")
