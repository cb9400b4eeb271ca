"""How much memory a run's process holds, if it lives on this machine. Belongs to the feed's thread."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from clarinet_tui.runs.lock import read_holder
from clarinet_tui.runs.process import alive

if TYPE_CHECKING:
    from clarinet_tui.runs.directory import RunDirectory

EVERY = 2.0
"""Seconds between two looks."""
STEP = 1 << 24
"""It is told in steps, so that a few bytes more are no news."""


class Memory:
    """Looks seldom, and remembers."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._run, self._next = "", 0.0
        self._last: int | None = None

    def of(self, run: RunDirectory) -> int | None:
        if run.id != self._run or self._clock() >= self._next:
            self._run, self._next = run.id, self._clock() + EVERY
            self._last = held_by(run)
        return self._last


def held_by(run: RunDirectory) -> int | None:
    """Bytes, in whole steps; None for a run that does not train here."""
    import psutil

    holder = read_holder(run.lock)
    if holder is None or not alive(holder):
        return None
    try:
        held: int = psutil.Process(holder.pid).memory_info().rss
    except psutil.Error:
        return None
    return max(held // STEP, 1) * STEP
