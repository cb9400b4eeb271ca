"""Devices as lines: how busy they are, and with whom."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from textual.content import Content

from clarinet_tui.devices.placement import unavailable_reason
from clarinet_tui.text import fit_width, format_duration, format_task, progress_bar
from clarinet_tui.ui.text.styled import GAP, Span, styled

if TYPE_CHECKING:
    from clarinet_tui.devices.device import Device, DeviceProcess
    from clarinet_tui.history.queries import RunRow
    from clarinet_tui.ui.snapshot.machine import MachineSnapshot, QueueRow

GIB = 1 << 30
HOT, FULL = 80, 0.9
"""Degrees and the share of memory from which on they stand out."""
NAME = 22
MARGIN = " " * 9
"""Under a device, where its runs and processes begin."""


def format_device_name(device: Device) -> str:
    """Without what every one of them is called."""
    name = device.name.removeprefix("NVIDIA ").removeprefix("GeForce ")
    return name if device.cores is None else f"{name}, {device.cores} core{'' if device.cores == 1 else 's'}"


def format_load(device: Device, bars: int) -> list[Span]:
    """Use, memory and temperature, in columns."""
    parts = [*_bar(None if device.use is None else device.use / 100, bars), (_percent(device.use), ""), GAP]
    share = None
    if device.memory_total and device.memory_used is not None:
        share = device.memory_used / device.memory_total
    parts += [*_bar(share, bars, FULL), (f"{format_memory(device):>15}", "")]
    heat = "" if device.temperature is None else f"{device.temperature}"
    return [*parts, (f"{heat:>5}", "warn" if (device.temperature or 0) >= HOT else "muted")]


def _bar(share: float | None, width: int, limit: float = 2.0) -> list[Span]:
    if not width:
        return []
    done, rest = progress_bar(share or 0.0, width)
    return [(done, "warn" if (share or 0.0) >= limit else "live"), (rest, "faint")]


def _percent(use: float | None) -> str:
    return f"{'?' if use is None else format(use, '.0f'):>4} %"


def format_memory(device: Device) -> str:
    if device.memory_total is None or device.memory_used is None:
        return "?"
    return f"{device.memory_used / GIB:.1f}/{device.memory_total / GIB:.1f} GiB"


def format_occupants(device: Device, machine: MachineSnapshot) -> list[Span]:
    """Runs of ours and foreign processes on one line; "free" where there are none."""
    ours = [place for place in machine.queue_rows if place.started_on == device.key]
    parts: list[Span] = [(f"▸ {place.id} ", "live") for place in ours]
    strangers = foreign_processes(device, machine)
    parts += [(f"{_owned(process)} ", "warn") for process in strangers if process.computes]
    if device.problem and device.is_gpu:
        return [(device.problem, "bad")]
    if device.processes is None:
        return [*parts, ("who computes there is not told", "muted")]
    return parts or _freedom(device, machine, roomy=False)


def foreign_processes(device: Device, machine: MachineSnapshot) -> list[DeviceProcess]:
    return [process for process in device.processes or () if process.pid not in machine.workers]


def _owned(process: DeviceProcess) -> str:
    return f"{process.owner or '?'}: {process.command or '?'} {process.pid}"


def format_device(device: Device, machine: MachineSnapshot, running: Mapping[str, RunRow], width: int) -> Content:
    """A device with a line for each run and process on it."""
    names, bars = _columns(width)
    title = styled((f" {device.label:<7} ", "strong"), (f"{fit_width(format_device_name(device), names)} ", "muted"))
    slots = machine.queue.slots_for(device.key)
    state = styled(*format_load(device, bars), (f"{slots:>6}  ", "muted"), *_freedom(device, machine, width >= 100))
    lines = [(title + state).truncate(width, ellipsis=True)]
    lines += [
        _run(place, running.get(place.id), width) for place in machine.queue_rows if place.started_on == device.key
    ]
    if not device.is_gpu:
        queued = {place.id for place in machine.queue_rows}
        lines += [_other_run(run, width) for run in _outside(running.values(), queued, machine.host)]
    lines += [_process(process).truncate(width, ellipsis=True) for process in foreign_processes(device, machine)]
    if device.problem:
        lines.append(styled((MARGIN + device.problem, "bad")))
    elif device.processes is None:
        lines.append(styled((f"{MARGIN}who computes there is not told", "muted")))
    return Content("\n").join(lines)


def format_device_header(width: int) -> Content:
    names, bars = _columns(width)
    titles = f" {'device':<7} {'':<{names}} {'use':<{bars + 8}}{'memory':<{bars + 17}}{'°C':>5}{'slots':>6}"
    return styled((titles, "muted"))


def _columns(width: int) -> tuple[int, int]:
    """Of a device's name, and of a bar."""
    return (17, 5) if width < 100 else (NAME, min(30, (width - 110) // 2))


def _freedom(device: Device, machine: MachineSnapshot, roomy: bool) -> list[Span]:
    """Whether a run could start there now."""
    taken = any(place.started_on == device.key for place in machine.queue_rows)
    if taken or not device.is_gpu or device.processes is None:
        return []
    why = unavailable_reason(device, ours=machine.workers)
    if why is None:
        return [("free", "good")]
    if any(process.computes for process in foreign_processes(device, machine)):
        return [("busy", "warn")]
    return [] if device.problem else [("full", "warn"), (f"  {why}" if roomy else "", "muted")]


def _outside(running: Iterable[RunRow], queued: set[str], host: str) -> list[RunRow]:
    """Runs of this machine's CPU that were not started from the queue."""
    return [run for run in running if run.id not in queued and run.host == host and (run.device or "") == "cpu"]


def _run(place: QueueRow, run: RunRow | None, width: int) -> Content:
    seed = "?" if place.seed is None else place.seed
    words = styled((f"{MARGIN}▸ ", "live"), (f"{place.id}  {place.method}  {format_task(place.task)}  seed {seed}", ""))
    state: list[Span] = (
        [GAP, ("stops", "warn")] if place.is_stopping else [] if run is None else [GAP, *format_progress(run, 10)]
    )
    return (words + styled(*state)).truncate(width, ellipsis=True)


def _other_run(run: RunRow, width: int) -> Content:
    words = styled(
        (f"{MARGIN}▸ ", "live"), (f"{run.id}  {run.method or '?'}  {format_task(run.task)}  seed {run.seed}", ""), GAP
    )
    return (words + styled(*format_progress(run, 10))).truncate(width, ellipsis=True)


def format_progress(run: RunRow, width: int) -> list[Span]:
    """How far a run is, in short."""
    share, left = run.progress, run.seconds_left
    if share is None:
        return [(run.state, "muted")]
    done, rest = progress_bar(share, width)
    return [
        (done, "live"),
        (rest, "faint"),
        (f" {share:.0%}" + (f" {format_duration(left)} left" if left else ""), "muted"),
    ]


def _process(process: DeviceProcess) -> Content:
    memory = "" if process.memory is None else f", {process.memory / GIB:.1f} GiB"
    does = f" computes{memory}" if process.computes else f" draws{memory}"
    return styled((MARGIN, ""), (f"{_owned(process)}{does}", "warn" if process.computes else "muted"))
