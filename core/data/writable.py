"""Whether the data folder may be written."""

import os
from pathlib import Path

WRITE_BITS = 0o222


def is_writable(folder: Path) -> bool:
    """Whether files may be added; a folder marked read-only is left alone, even by root, who could write there."""
    existing = folder
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    return existing.is_dir() and bool(existing.stat().st_mode & WRITE_BITS) and os.access(existing, os.W_OK | os.X_OK)
