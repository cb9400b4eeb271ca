"""Small and read-only disks, mounted for a test. Tests are skipped where mounting is not permitted."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import pytest

BLOCK = 1 << 16


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    folder.mkdir(exist_ok=True)
    _mount(folder, "-t", "tmpfs", "-o", f"size={size}", "tmpfs")
    try:
        yield folder
    finally:
        _unmount(folder)


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Remount a folder read-only: file permissions do not stop root."""
    _mount(folder, "--bind", str(folder))
    try:
        _mount(folder, "-o", "remount,bind,ro")
        yield
    finally:
        _unmount(folder)


def fill(folder: Path) -> Path:
    """Create a file that takes all free space, and return its path."""
    filler = folder / "filler"
    with filler.open("ab", buffering=0) as file:
        for size in (BLOCK, 1):
            with suppress(OSError):
                while True:
                    file.write(b"x" * size)
    assert os.statvfs(folder).f_bavail == 0
    return filler


@cache
def mount_error() -> str:
    """Return why this process cannot mount a disk, or nothing if it can."""
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], capture_output=True, text=True)
        if result.returncode == 0:
            _unmount(Path(folder))
        return result.stderr.strip()


def require_mount() -> None:
    """Skip the test where this process cannot mount a disk."""
    if error := mount_error():
        pytest.skip(f"mount is not permitted: {error}")


def _mount(folder: Path, *arguments: str) -> None:
    require_mount()
    subprocess.run(["mount", *arguments, str(folder)], check=True)


def _unmount(folder: Path) -> None:
    """Unmount lazily: a killed process may still be exiting."""
    os.sync()
    subprocess.run(["umount", "--lazy", str(folder)], check=True)
