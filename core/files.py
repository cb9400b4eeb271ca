"""Write files so that a reader, or the next start after a crash, finds the old content or the new."""

import os
from functools import partial
from pathlib import Path

OWN_FILE = 0o644
"""The mode before the umask: other users never write to these files."""


def write_synced(path: Path, content: "bytes | memoryview") -> None:
    """Write a new file to the disk itself; a file or symbolic link of that name is removed first."""
    path.unlink(missing_ok=True)
    with open(path, "xb", opener=partial(os.open, mode=OWN_FILE)) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def replace_synced(path: Path, content: "bytes | memoryview") -> None:
    """Write to a temporary file, sync it and rename it to `path`."""
    temporary = partial_path(path)
    try:
        write_synced(temporary, content)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    temporary.replace(path)
    sync_folder(path.parent)


def partial_path(path: Path) -> Path:
    """Return the name under which a file is written before it is renamed."""
    return path.with_name(f".{path.name}.partial")


def sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_writable(folder: Path) -> bool:
    """Return whether files can be added; a folder marked read-only is respected even if the user is root."""
    existing = folder
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    return existing.is_dir() and bool(existing.stat().st_mode & 0o222) and os.access(existing, os.W_OK | os.X_OK)
