"""Devices as lines: how busy they are, and with whom."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from textual.content import Content

from clarinet_tui.text import bar, duration
from clarinet_tui.ui.facts import GAP, Part, said
from clarinet_tui.ui.states import progress, remaining

if TYPE_CHECKING:
    from clarinet_tui.history.queries import RunRow
    from clarinet_tui.launch.device import Device, Process
    from clarinet_tui.ui.machine import Machine, Place

GIB = 1 << 30
HOT, FULL = 80, 0.9
"""Degrees and the share of memory from which on they stand out."""
NAME = 22
MARGIN = " " * 9
"""Under a device, where its runs and processes begin."""


def name_of(device: Device) -> str:
    """Without what every one of them is called."""
    name = device.name.removeprefix("NVIDIA ").removeprefix("GeForce ")
    return name if device.cores is None else f"{name}, {device.cores} core{'' if device.cores == 1 else 's'}"


def load(device: Device, bars: int) -> list[Part]:
    """Use, memory and temperature, in columns."""
    parts = [*_bar(None if device.use is None else device.use / 100, bars), (_percent(device.use), ""), GAP]
    share = None
    if device.memory_total and device.memory_used is not None:
        share = device.memory_used / device.memory_total
    parts += [*_bar(share, bars, FULL), (f"{memory(device):>15}", "")]
    heat = "" if device.temperature is None else f"{device.temperature} °C"
    return [*parts, (f"{heat:>7}", "warn" if (device.temperature or 0) >= HOT else "muted")]


def _bar(share: float | None, width: int, limit: float = 2.0) -> list[Part]:
    if not width:
        return []
    done, rest = bar(share or 0.0, width)
    return [(done, "warn" if (share or 0.0) >= limit else "live"), (rest, "faint")]


def _percent(use: float | None) -> str:
    return f"{'?' if use is None else format(use, '.0f'):>4} %"


def memory(device: Device) -> str:
    if device.memory_total is None or device.memory_used is None:
        return "?"
    return f"{device.memory_used / GIB:.1f}/{device.memory_total / GIB:.1f} GiB"


def who(device: Device, machine: Machine) -> list[Part]:
    """Runs of ours and foreign processes on one line; "free" where there are none."""
    ours = [place for place in machine.places if place.on == device.key]
    parts: list[Part] = [(f"▸ {place.id} ", "live") for place in ours]
    strangers = foreign(device, machine)
    parts += [(f"{_owned(process)} ", "warn") for process in strangers if process.computes]
    if device.trouble and device.is_gpu:
        return [(device.trouble, "bad")]
    if device.processes is None:
        return [*parts, ("who computes there is not told", "muted")]
    return parts or ([("free", "good")] if device.is_gpu else [])


def foreign(device: Device, machine: Machine) -> list[Process]:
    return [process for process in device.processes or () if process.pid not in machine.workers]


def _owned(process: Process) -> str:
    return f"{process.owner or '?'}: {process.command or '?'} {process.pid}"


def card(device: Device, machine: Machine, running: Mapping[str, RunRow], width: int) -> Content:
    """A device with a line for each run and process on it."""
    slots = machine.queue.slots_of(device.key)
    bars = 6 if width < 100 else min(24, (width - 76) // 2)
    name = name_of(device)[: NAME if width >= 100 else 15]
    head = said((f" {device.label:<7} ", "strong"), (f"{name:<{NAME if width >= 100 else 15}} ", "muted"))
    room = f"{slots} slot{'' if slots == 1 else 's'}"
    lines = [(head + said(*load(device, bars), GAP, (room, "muted"))).truncate(width, ellipsis=True)]
    lines += [_run(place, running.get(place.id), width) for place in machine.places if place.on == device.key]
    if not device.is_gpu:
        queued = {place.id for place in machine.places}
        lines += [_other_run(run, width) for run in _outside(running.values(), queued, machine.host)]
    lines += [_process(process).truncate(width, ellipsis=True) for process in foreign(device, machine)]
    if device.trouble:
        lines.append(said((MARGIN + device.trouble, "bad")))
    elif device.processes is None:
        lines.append(said((f"{MARGIN}who computes there is not told", "muted")))
    return Content("\n").join(lines)


def _outside(running: Iterable[RunRow], queued: set[str], host: str) -> list[RunRow]:
    """Runs of this machine's CPU that were not started from the queue."""
    return [run for run in running if run.id not in queued and run.host == host and (run.device or "") == "cpu"]


def _run(place: Place, run: RunRow | None, width: int) -> Content:
    task = place.task.replace("->", "→")
    seed = "?" if place.seed is None else place.seed
    words = said((f"{MARGIN}▸ ", "live"), (f"{place.id}  {place.method}  {task}  seed {seed}", ""))
    state: list[Part] = [GAP, ("stops", "warn")] if place.stops else [] if run is None else [GAP, *advance(run, 10)]
    return (words + said(*state)).truncate(width, ellipsis=True)


def _other_run(run: RunRow, width: int) -> Content:
    task = (run.task or "?").replace("->", "→")
    words = said((f"{MARGIN}▸ ", "live"), (f"{run.id}  {run.method or '?'}  {task}  seed {run.seed}", ""), GAP)
    return (words + said(*advance(run, 10))).truncate(width, ellipsis=True)


def advance(run: RunRow, width: int) -> list[Part]:
    """How far a run is, in short."""
    share, left = progress(run), remaining(run)
    if share is None:
        return [(run.state, "muted")]
    done, rest = bar(share, width)
    return [(done, "live"), (rest, "faint"), (f" {share:.0%}" + (f" {duration(left)} left" if left else ""), "muted")]


def _process(process: Process) -> Content:
    memory = "" if process.memory is None else f", {process.memory / GIB:.1f} GiB"
    does = f" computes{memory}" if process.computes else f" draws{memory}"
    return said((MARGIN, ""), (f"{_owned(process)}{does}", "warn" if process.computes else "muted"))
