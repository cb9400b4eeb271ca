"""Runs out of an archive: all of it is checked, against its manifest too, before anything is written."""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from clarinet_tui.runs.archive import ENVIRONMENT, FORMAT, MANIFEST, MOMENT, PRIVATE, Manifest, Packed, fingerprint
from clarinet_tui.runs.archive_members import Limits, Member, members
from clarinet_tui.runs.atomic_files import create_file, told
from clarinet_tui.runs.directory import CONFIG, RunDirectory
from core.errors import InputError

USUAL = Limits()


@dataclass(frozen=True)
class Brought:
    new: tuple[str, ...]
    known: tuple[str, ...]
    """Those that were here already, with the same content."""


def unpack(path: Path, runs_dir: Path, limits: Limits = USUAL) -> Brought:
    """Bring the archive's runs here, each at once and whole; one that is here with other content is refused."""
    manifest = examine(path, limits)
    known = _known(manifest, runs_dir)
    new = {run_id: files for run_id, files in manifest.runs.items() if run_id not in known}
    with told(runs_dir):
        runs_dir.mkdir(parents=True, exist_ok=True)
        _refuse_without_room(runs_dir, sum(packed.size for files in new.values() for packed in files.values()))
        folder = Path(tempfile.mkdtemp(prefix=".import-", dir=runs_dir))
        try:
            _write(path, folder, new, limits)
            for run_id in sorted(new):
                (folder / run_id).rename(_free_place(runs_dir, run_id))
        finally:
            shutil.rmtree(folder)
    return Brought(tuple(sorted(new)), tuple(sorted(known)))


def examine(path: Path, limits: Limits = USUAL) -> Manifest:
    """Read all of it and write nothing: the manifest, if every word of it is true."""
    found: dict[str, Packed] = {}
    said: Manifest | None = None
    for member in members(path, limits):
        if said is not None:
            raise InputError(f"{path}: goes on after its {MANIFEST}")
        if member.name in found:
            raise InputError(f"{path}: has {member.name} twice")
        kept: list[bytes] = []
        is_json = member.name.endswith((MANIFEST, f"/{ENVIRONMENT}"))
        found[member.name] = _hashed(member, kept.append if is_json else len)
        if member.name == MANIFEST:
            said = _manifest(path, b"".join(kept))
        elif is_json:
            _decoded(path, member.name, b"".join(kept), dict[str, Any])  # listings read it as a whole
    if said is None:
        raise InputError(f"{path}: has no {MANIFEST}: it was not made by `clarinet export`")
    del found[MANIFEST]
    _compare(path, said, found)
    return said


def _hashed(member: Member, take: Callable[[bytes], object]) -> Packed:
    digest = hashlib.sha256()
    for chunk in member.chunks:
        digest.update(chunk)
        take(chunk)
    return Packed(member.size, digest.hexdigest())


def _manifest(path: Path, content: bytes) -> Manifest:
    written = _decoded(path, MANIFEST, content, dict[str, Any]).get("format")
    if written != FORMAT:
        raise InputError(f"{path}: was packed in another format ({written!a}, not {FORMAT}): update Clarinet")
    manifest: Manifest = _decoded(path, MANIFEST, content, Manifest)
    return manifest


def _decoded(path: Path, name: str, content: bytes, kind: Any) -> Any:
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path}: {name}: {error}") from None


def _compare(path: Path, manifest: Manifest, found: dict[str, Packed]) -> None:
    said = {f"{run_id}/{name}": packed for run_id, files in manifest.runs.items() for name, packed in files.items()}
    for name in sorted(said.keys() | found.keys()):
        if said.get(name) != found.get(name):
            raise InputError(f"{path}: {name[:80]!a} is not what {MANIFEST} says: the archive is damaged or changed")
    for run_id, files in manifest.runs.items():
        if CONFIG not in files:
            raise InputError(f"{path}: run {run_id[:40]!a} has no {CONFIG}")


def _known(manifest: Manifest, runs_dir: Path) -> set[str]:
    """The runs that are here with the same content; one with another is refused."""
    known = set()
    for run_id, files in sorted(manifest.runs.items()):
        run = RunDirectory(runs_dir, run_id)
        if not os.path.lexists(run.path):
            continue
        for name, packed in files.items():
            if fingerprint(run, name, manifest.patches) != packed:
                raise InputError(f"run {run_id}: is here already with another {name}: `clarinet rm {run_id}` first")
        known.add(run_id)
    return known


def _refuse_without_room(folder: Path, size: int) -> None:
    free = shutil.disk_usage(folder).free
    if size > free:
        raise InputError(f"{folder}: there is room for {free >> 20} MB, and the runs take {size >> 20} MB")


def _write(path: Path, folder: Path, new: dict[str, dict[str, Packed]], limits: Limits) -> None:
    """The second reading. The file may have been exchanged since the first: what is written is checked again."""
    written = 0
    for member in members(path, limits):
        run_id, _, name = member.name.partition("/")
        if run_id not in new:
            continue
        place = folder / member.name
        place.parent.mkdir(exist_ok=True)
        with os.fdopen(create_file(place, 0o600 if name in PRIVATE else 0o666), "wb") as file:
            packed = _hashed(member, file.write)
            file.flush()
            os.fsync(file.fileno())
        os.utime(place, (MOMENT, MOMENT))
        if new[run_id].get(name) != packed:
            raise InputError(f"{path}: was changed while it was read")
        written += 1
    if written != sum(map(len, new.values())):
        raise InputError(f"{path}: was changed while it was read")


def _free_place(runs_dir: Path, run_id: str) -> Path:
    place = runs_dir / run_id
    if os.path.lexists(place):
        raise InputError(f"run {run_id}: has just appeared in {runs_dir}: try again")
    return place
