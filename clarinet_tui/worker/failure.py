"""Turn an exception into a Failed event: its cause, its stack frames and what to do about it."""

import re
import traceback
from pathlib import Path

from clarinet_tui.text import shorten
from core.errors import DISK_FULL, InputError, describe_error
from core.events import Event, Failed, FailureKind

FRAMES = 5
"""The number of innermost frames that are recorded."""
MAX_MESSAGE = 2000
OUT_OF_MEMORY = re.compile(
    r"CUDA out of memory|CUDA error: out of memory|STATUS_ALLOC_FAILED|DefaultCPUAllocator: (can't|not enough)"
)
REQUESTED = re.compile(r"(?:Tried to allocate|Unable to allocate) (?P<size>[\d.]+ \w+)")
REQUESTED_BYTES = re.compile(r"tried to allocate (?P<bytes>\d+) bytes")
CAPACITY = re.compile(r"total capacity of (?P<total>[\d.]+ \w+) of which (?P<free>[\d.]+ \w+) is free")
ADVICE = "resume it on another device or with a lower memory_limit_gb, or start a run with a smaller batch_size"


def make_failed(error: Exception, last: Event | None) -> Failed:
    """`last` is the previous event of the attempt."""
    kind, message = _classify(error)
    frames = traceback.extract_tb(error.__traceback__)[-FRAMES:]
    return Failed(
        iteration=getattr(last, "iteration", 0),
        message=shorten(message, MAX_MESSAGE),
        kind=kind,
        frames=[f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in reversed(frames)],
        seconds=last.seconds if last else 0.0,
    )


def _classify(error: Exception) -> tuple[str, str]:
    text = " ".join(str(error).split())
    if isinstance(error, InputError):
        return FailureKind.WRONG_INPUT, text
    # Only GPUs have an exception class of their own in torch, which is not imported here.
    is_memory_error = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
    if is_memory_error or (isinstance(error, RuntimeError) and OUT_OF_MEMORY.search(text)):
        return FailureKind.OUT_OF_MEMORY, f"out of memory{_format_sizes(text)}; {ADVICE}"
    if isinstance(error, OSError) and error.errno in DISK_FULL:
        return FailureKind.DISK_FULL, f"the disk is full ({text}); free some space and resume the run"
    return type(error).__name__, " ".join(describe_error(error).split())


def _format_sizes(text: str) -> str:
    """Return the requested and the free memory, as far as the message has them."""
    where = " on the GPU" if "CUDA" in text or "CUBLAS" in text or "CUDNN" in text else ""
    requested = REQUESTED.search(text)
    if requested:
        size = requested["size"]
    elif counted := REQUESTED_BYTES.search(text):
        size = f"{int(counted['bytes']) / 2**30:.2f} GiB"
    else:
        return where
    capacity = CAPACITY.search(text)
    free = f", {capacity['free']} of {capacity['total']} were free" if capacity else ""
    return f"{where}: {size} more were requested{free}"
