"""The peak memory of GPU runs by kind, in runs/memory/: how much the next run of that kind will need."""

import hashlib
from pathlib import Path

import msgspec

from clarinet_tui.runs.files import find_json
from core.config import RunConfig
from core.files import replace_file

FOLDER = "memory"
SETTINGS = (
    "method",
    "task",
    "source_size",
    "target_size",
    "test_size",
    "image_size",
    "network",
    "batch_size",
    "optimizer",
    "precision",
    "compile",
    "memory_limit_gb",
)
"""The settings that decide how much memory a run needs."""
MAX_BYTES = 65536


class MemoryPeak(msgspec.Struct, frozen=True, kw_only=True):
    """The largest number of bytes that a run of this kind has used on its GPU."""

    kind: str
    bytes: int


def memory_kind(config: RunConfig) -> str:
    """Return a text that is equal for runs that need the same memory."""
    values = [f"{name}={getattr(config, name)}" for name in SETTINGS]
    own = [f"own.{name}={value}" for name, value in (config.own or {}).items()]
    return " ".join([*values, f"stage1.batch_size={config.stage1.batch_size}", *own])


def read_memory_peak(runs_dir: Path, config: RunConfig) -> int | None:
    """Return the peak of earlier runs of the same kind; None if there was none."""
    return _read(_path(runs_dir, memory_kind(config)))


def read_largest_peak(runs_dir: Path) -> int | None:
    """Return the largest peak of all kinds."""
    peaks = [_read(path) for path in (Path(runs_dir) / FOLDER).glob("*.json")]
    return max((peak for peak in peaks if peak is not None), default=None)


def record_memory_peak(runs_dir: Path, config: RunConfig, peak: int) -> None:
    """Record the peak unless an earlier one was larger; of two alike runs that end together, either may win."""
    kind = memory_kind(config)
    path = _path(runs_dir, kind)
    if peak > (_read(path) or 0):
        path.parent.mkdir(exist_ok=True)
        replace_file(path, msgspec.json.encode(MemoryPeak(kind=kind, bytes=peak)) + b"\n")


def _path(runs_dir: Path, kind: str) -> Path:
    return Path(runs_dir) / FOLDER / f"{hashlib.blake2b(kind.encode(), digest_size=8).hexdigest()}.json"


def _read(path: Path) -> int | None:
    """Return None for a file that is missing or damaged: the run then needs what an unknown one does."""
    peak = find_json(path, MemoryPeak, MAX_BYTES)
    return peak.bytes if peak and peak.bytes > 0 else None
