"""An exception as a run's last word: what it was, where it happened, and what to do about it."""

import errno
import re
import traceback
from pathlib import Path

from core.errors import InputError
from core.events import Event, Failed

FRAMES = 5
"""How many of an exception's last frames are kept with the run."""
LONGEST = 2000
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
OUT_OF_MEMORY = re.compile(
    r"CUDA out of memory|CUDA error: out of memory|STATUS_ALLOC_FAILED|DefaultCPUAllocator: (can't|not enough)"
)
ASKED = re.compile(r"(?:Tried to allocate|Unable to allocate) (?P<size>[\d.]+ \w+)")
ASKED_BYTES = re.compile(r"tried to allocate (?P<bytes>\d+) bytes")
CAPACITY = re.compile(r"total capacity of (?P<total>[\d.]+ \w+) of which (?P<free>[\d.]+ \w+) is free")
REMEDY = "go on with it on another device or with a lower memory_limit_gb, or start one with a smaller batch_size"


def failure(error: Exception, last: Event | None) -> Failed:
    """`last` is what the run said before."""
    kind, message = _told(error)
    frames = traceback.extract_tb(error.__traceback__)[-FRAMES:]
    return Failed(
        iteration=getattr(last, "iteration", 0),
        message=message if len(message) <= LONGEST else message[: LONGEST - 1] + "…",
        kind=kind,
        frames=[f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in reversed(frames)],
        seconds=last.seconds if last else 0.0,
    )


def _told(error: Exception) -> tuple[str, str]:
    text = " ".join(str(error).split())
    if isinstance(error, InputError):
        return "wrong input", text
    if _out_of_memory(error, text):
        return "out of memory", f"out of memory{_sizes(text)}; {REMEDY}"
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        return "disk full", f"there is no room on the disk ({text}); make some, and go on with the run"
    name = type(error).__name__
    return name, f"{name}: {text}" if text else name


def _out_of_memory(error: Exception, text: str) -> bool:
    """torch has an exception of its own for GPUs alone, and is not imported here."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError) and OUT_OF_MEMORY.search(text) is not None


def _sizes(text: str) -> str:
    """What was asked for, and what there was, as far as the message tells."""
    where = " on the GPU" if "CUDA" in text or "CUBLAS" in text or "CUDNN" in text else ""
    asked = ASKED.search(text)
    if asked:
        size = asked["size"]
    elif counted := ASKED_BYTES.search(text):
        size = f"{int(counted['bytes']) / 2**30:.2f} GiB"
    else:
        return where
    capacity = CAPACITY.search(text)
    there = f", and {capacity['free']} of {capacity['total']} were free" if capacity else ""
    return f"{where}: {size} more were asked for{there}"
