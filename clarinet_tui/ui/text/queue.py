"""The queue as lines: what runs, what waits in which order, and for what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

from clarinet_tui.text import format_task
from clarinet_tui.ui.text.devices import format_progress
from clarinet_tui.ui.text.styled import Span, styled

if TYPE_CHECKING:
    from clarinet_tui.history.queries import RunRow
    from clarinet_tui.ui.snapshot.machine import MachineSnapshot, QueueRow

COLUMNS = (("", 3), ("", 1), ("run", 9), ("method", 13), ("task", 9), ("seed", 4), ("device", 7))
"""Titles and widths; what it waits for has the rest of the line."""
ROOM = 46
"""Wider lines than this times two let method and task be longer."""


def column_widths(width: int) -> list[int]:
    more = max(0, min(16, (width - 2 * ROOM) // 6))
    return [size + (more if title in ("method", "task") else 0) for title, size in COLUMNS]


def format_queue_header(width: int) -> Content:
    titles = [f"{title:<{size}}" for (title, _), size in zip(COLUMNS, column_widths(width), strict=True)]
    return styled((" " + " ".join([*titles, "waits for"]), "muted"))


def format_queued_run(place: QueueRow, machine: MachineSnapshot, run: RunRow | None, width: int) -> Content:
    device = machine.find_device(place.started_on)
    where = (device.label if device else place.started_on) if place.started_on else place.device
    sign: Span = ("▸", "live") if place.started_on else ("‖", "warn") if place.is_paused else ("◦", "muted")
    texts: list[Span] = [
        (f"{place.position or ''}".rjust(3), "muted"),
        sign,
        (place.id, "muted"),
        (place.method, ""),
        (format_task(place.task), ""),
        (f"{'?' if place.seed is None else place.seed}".rjust(4), ""),
        (where, "muted"),
    ]
    cells = [_cut(text, role, size) for (text, role), size in zip(texts, column_widths(width), strict=True)]
    shown = Content(" ").join([Content(""), *cells, styled(*_rest(place, machine, run))])
    return shown.truncate(width, ellipsis=True)


def reason_fits(place: QueueRow, width: int) -> bool:
    """Whether a line has room for all that a run waits for."""
    return sum(column_widths(width)) + len(COLUMNS) + 1 + len(place.wait_reason) <= width


def _cut(text: str, role: str, size: int) -> Content:
    cell = styled((text, role)).truncate(size, ellipsis=True)
    return cell.pad_right(max(size - cell.cell_length, 0))


def _rest(place: QueueRow, machine: MachineSnapshot, run: RunRow | None) -> list[Span]:
    if place.is_stopping:
        return [("stops", "warn")]
    if place.started_on:
        return format_progress(run, 10) if run else [("starting", "live")]
    if place.wait_reason:
        return [(place.wait_reason, "warn" if place.is_paused or machine.queue.paused else "muted")]
    if machine.supervisor_host:
        return [(f"{machine.supervisor_host}, whose queue it is", "muted")]
    return [("starts next" if machine.has_supervisor else "waits for the supervisor", "good")]
