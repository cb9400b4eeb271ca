"""The queue as lines: started runs, waiting runs with what they wait for, and when all will be done."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from textual.content import Content

from clarinet_tui.text import format_count, format_duration, format_seed, format_task
from clarinet_tui.ui.text.devices import format_progress
from clarinet_tui.ui.text.styled import Span, fit_cell, styled

if TYPE_CHECKING:
    from clarinet_tui.history.queries import RunRow
    from clarinet_tui.place import QueueRow
    from clarinet_tui.ui.snapshot.machine import MachineSnapshot

COLUMNS = (("", 3), ("", 1), ("run", 9), ("method", 15), ("task", 7), ("seed", 4), ("device", 7))
"""Titles and widths; the rest of the line is for what a run waits for."""
WIDE = 92
"""Width from which the columns of method and task grow."""


def column_widths(width: int) -> list[int]:
    extra = max(0, min(16, (width - WIDE) // 6))
    return [size + (extra if title in ("method", "task") else 0) for title, size in COLUMNS]


def format_queue_header(width: int) -> Content:
    titles = [f"{title:<{size}}" for (title, _), size in zip(COLUMNS, column_widths(width), strict=True)]
    return styled((" " + " ".join([*titles, "waits for"]), "muted"))


def format_queued_run(row: QueueRow, machine: MachineSnapshot, run: RunRow | None, width: int) -> Content:
    started_on = machine.find_device(row.started_on)
    device = (started_on.label if started_on else row.started_on) if row.started_on else row.device
    glyph: Span = ("▸", "live") if row.started_on else ("‖", "warn") if row.is_paused else ("◦", "muted")
    spans: list[Span] = [
        (f"{row.position or ''}".rjust(3), "muted"),
        glyph,
        (row.id, "muted"),
        (row.method, ""),
        (format_task(row.task), ""),
        (format_seed(row.seed).rjust(4), ""),
        (device, "muted"),
    ]
    cells = [fit_cell(styled(span), size) for span, size in zip(spans, column_widths(width), strict=True)]
    line = Content(" ").join([Content(""), *cells, styled(*_state_spans(row, machine, run))])
    return line.truncate(width, ellipsis=True)


def reason_fits(row: QueueRow, width: int) -> bool:
    """Whether the line has room for all that the run waits for."""
    return sum(column_widths(width)) + len(COLUMNS) + 1 + len(row.waits_for) <= width


def _state_spans(row: QueueRow, machine: MachineSnapshot, run: RunRow | None) -> list[Span]:
    if row.is_stopping:
        return [("stopping", "warn")]
    if row.started_on:
        return format_progress(run) if run else [("starting", "live")]
    if row.wait_reason:
        return [(row.waits_for, "warn" if row.is_paused or machine.queue.paused else "muted")]
    if machine.supervisor_host:
        return [(f"the supervisor of {machine.supervisor_host}", "muted")]
    return [("starts next" if machine.has_supervisor else "the supervisor", "good")]


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
