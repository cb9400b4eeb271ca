"""Disks that are small or cannot be written: mounted for a test where that is allowed."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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
    """For root as well, whom no permission stops."""
    _mount(folder, "--bind", str(folder))
    try:
        _mount(folder, "-o", "remount,bind,ro")
        yield
    finally:
        _unmount(folder)


def fill(folder: Path) -> Path:
    """A file that takes all the room there is."""
    filler = folder / "filler"
    with filler.open("ab", buffering=0) as file:
        for size in (BLOCK, 1):
            with suppress(OSError):
                while True:
                    file.write(b"x" * size)
    assert os.statvfs(folder).f_bavail == 0
    return filler


def _mount(folder: Path, *words: str) -> None:
    done = subprocess.run(["mount", *words, str(folder)], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"nothing can be mounted here: {done.stderr.strip()}")


def _unmount(folder: Path) -> None:
    """Even if a process that was killed is still on its way out."""
    os.sync()
    subprocess.run(["umount", "--lazy", str(folder)], check=True)
