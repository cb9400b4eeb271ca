"""How much disk space runs take, and how much of it is checkpoints, which only resuming needs."""

import os
from dataclasses import dataclass
from pathlib import Path

from clarinet_tui.text import format_bytes

CHECKPOINTS, MODELS = "checkpoint", "model"
"""The prefixes of their files."""


@dataclass(frozen=True)
class DiskUse:
    """Bytes of a run's files."""

    total: int = 0
    checkpoints: int = 0
    models: int = 0

    def __add__(self, other: "DiskUse") -> "DiskUse":
        return DiskUse(self.total + other.total, self.checkpoints + other.checkpoints, self.models + other.models)

    def __str__(self) -> str:
        parts = {"checkpoints": self.checkpoints, "model": self.models}
        shown = ", ".join(f"{name} {format_bytes(size)}" for name, size in parts.items() if size)
        return format_bytes(self.total) + (f" ({shown})" if shown else "")


def disk_use(folder: Path) -> DiskUse:
    """Return the space of the files directly in a run's directory; nothing if it cannot be read."""
    use = DiskUse()
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if not entry.is_file(follow_symlinks=False):
                    continue
                size, name = entry.stat(follow_symlinks=False).st_size, entry.name.lstrip(".")
                use += DiskUse(size, size * name.startswith(CHECKPOINTS), size * name.startswith(MODELS))
    except OSError:  # removed meanwhile
        return use
    return use
