"""Hostile archives, built member by member."""

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

Member = tuple[tarfile.TarInfo, bytes]
CONFIG = b'method = "clarinet"\n'


def plain(name: str, content: bytes = b"", **fields: Any) -> Member:
    header = tarfile.TarInfo(name)
    header.size = len(content)
    for field, value in fields.items():
        setattr(header, field, value)
    return header, content


def manifest(members: Iterable[Member]) -> Member:
    """Return a correct manifest of these members."""
    runs: dict[str, dict[str, Any]] = {}
    for header, content in members:
        run_id, _, name = header.name.rpartition("/")
        runs.setdefault(run_id, {})[name] = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    return plain("manifest.json", json.dumps({"format": 1, "runs": runs}).encode())


def write(path: Path, members: Iterable[Member], tar_format: int = tarfile.GNU_FORMAT) -> Path:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tar_format) as archive:
        for header, content in members:
            archive.addfile(header, io.BytesIO(content))
    path.write_bytes(gzip.compress(buffer.getvalue(), mtime=0))
    return path


def archive(path: Path, *members: Member) -> Path:
    """Write an archive of a run with a config, these members and a correct manifest."""
    all_members = [plain("abc/config.toml", CONFIG), *members]
    return write(path, [*all_members, manifest(all_members)])


def edited(path: Path, edit: Callable[[bytes], bytes]) -> Path:
    """Change the decompressed content of an archive."""
    path.write_bytes(gzip.compress(edit(gzip.decompress(path.read_bytes())), mtime=0))
    return path
