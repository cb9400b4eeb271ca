"""When the queue will be done, estimated from the speed of finished runs."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from clarinet_tui.text import format_count, format_duration

if TYPE_CHECKING:
    from clarinet_tui.history.queries import RunRow
    from clarinet_tui.ui.snapshot.machine import MachineSnapshot


def makespan(seconds: Iterable[float], slots: int, busy: Iterable[float] = ()) -> float:
    """Return the time until the last run ends, if each starts on the slot that is free first.

    `busy` has the time until each occupied slot is free.
    """
    ends = [*busy]
    ends += [0.0] * max(slots - len(ends), 0 if ends else 1)
    heapq.heapify(ends)
    for duration in seconds:
        heapq.heapreplace(ends, ends[0] + duration)
    return max(ends)


def format_queue_end(machine: MachineSnapshot, running: Mapping[str, RunRow]) -> str:
    """Format when all runs of the queue will have ended; empty without runs, or if no duration is known."""
    waiting = [row for row in machine.waiting if not row.is_paused]
    started = [running.get(row.id) for row in machine.queue_rows if not row.is_waiting]
    left = [run.seconds_left for run in started if run and run.seconds_left is not None]
    seconds = [row.seconds for row in waiting if row.seconds is not None]
    unknown = len(waiting) - len(seconds) + len(started) - len(left)
    if not seconds and not left:
        return ""
    slots = sum(machine.queue.slots_for(device.key) for device in machine.devices if device.is_gpu) or 1
    end = format_duration(makespan(seconds, slots, left))
    return f"done in about {end}" + (f", plus {format_count(unknown, 'run')} of unknown time" if unknown else "")
