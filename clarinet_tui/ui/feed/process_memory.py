"""Reads the memory of a run's process on this machine, in the feed's thread."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from clarinet_tui.runs.lock import read_lock_owner
from clarinet_tui.runs.process import is_alive

if TYPE_CHECKING:
    from clarinet_tui.runs.directory import RunDirectory

READ_SECONDS = 2.0
"""Seconds between two reads."""
STEP = 1 << 24
"""Memory is rounded to this many bytes, so that small changes do not redraw the screen."""


class ProcessMemory:
    """Reads every `READ_SECONDS` and keeps the value in between."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._run, self._next = "", 0.0
        self._last: int | None = None

    def read(self, run: RunDirectory) -> int | None:
        if run.id != self._run or self._clock() >= self._next:
            self._run, self._next = run.id, self._clock() + READ_SECONDS
            self._last = read_memory(run)
        return self._last


def read_memory(run: RunDirectory) -> int | None:
    """Return the rounded bytes; None for a run that is not training on this machine."""
    import psutil

    owner = read_lock_owner(run.lock)
    if owner is None or not is_alive(owner):
        return None
    try:
        memory: int = psutil.Process(owner.pid).memory_info().rss
    except psutil.Error:
        return None
    return max(memory // STEP, 1) * STEP
