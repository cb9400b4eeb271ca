"""The queue as lines: what runs, what waits in which order, and for what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

from clarinet_tui.ui.text.devices import advance
from clarinet_tui.ui.text.run_summary import Part, said
from clarinet_tui.ui.text.task_name import task_name

if TYPE_CHECKING:
    from clarinet_tui.history.queries import RunRow
    from clarinet_tui.ui.snapshot.machine import Machine, Place

COLUMNS = (("", 3), ("", 1), ("run", 9), ("method", 13), ("task", 9), ("seed", 4), ("device", 7))
"""Titles and widths; what it waits for has the rest of the line."""
ROOM = 46
"""Wider lines than this times two let method and task be longer."""


def widths(width: int) -> list[int]:
    more = max(0, min(16, (width - 2 * ROOM) // 6))
    return [size + (more if title in ("method", "task") else 0) for title, size in COLUMNS]


def head(width: int) -> Content:
    titles = [f"{title:<{size}}" for (title, _), size in zip(COLUMNS, widths(width), strict=True)]
    return said((" " + " ".join([*titles, "waits for"]), "muted"))


def line(place: Place, machine: Machine, run: RunRow | None, width: int) -> Content:
    device = machine.device(place.on)
    where = (device.label if device else place.on) if place.on else place.device
    sign: Part = ("▸", "live") if place.on else ("‖", "warn") if place.paused else ("◦", "muted")
    texts: list[Part] = [
        (f"{place.number or ''}".rjust(3), "muted"),
        sign,
        (place.id, "muted"),
        (place.method, ""),
        (task_name(place.task), ""),
        (f"{'?' if place.seed is None else place.seed}".rjust(4), ""),
        (where, "muted"),
    ]
    cells = [_cut(text, role, size) for (text, role), size in zip(texts, widths(width), strict=True)]
    shown = Content(" ").join([Content(""), *cells, said(*_rest(place, machine, run))])
    return shown.truncate(width, ellipsis=True)


def fits(place: Place, width: int) -> bool:
    """Whether a line has room for all that a run waits for."""
    return sum(widths(width)) + len(COLUMNS) + 1 + len(place.why) <= width


def _cut(text: str, role: str, size: int) -> Content:
    cell = said((text, role)).truncate(size, ellipsis=True)
    return cell.pad_right(max(size - cell.cell_length, 0))


def _rest(place: Place, machine: Machine, run: RunRow | None) -> list[Part]:
    if place.stops:
        return [("stops", "warn")]
    if place.on:
        return advance(run, 10) if run else [("starting", "live")]
    if place.why:
        return [(place.why, "warn" if place.paused or machine.queue.paused else "muted")]
    if machine.fed_on:
        return [(f"{machine.fed_on}, whose queue it is", "muted")]
    return [("starts next" if machine.supervised else "waits for the supervisor", "good")]
