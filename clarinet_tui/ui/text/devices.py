"""Devices as lines: load, runs and other processes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from textual.content import Content

from clarinet_tui.devices.placement import unavailable_reason
from clarinet_tui.text import (
    fit_width,
    format_bytes,
    format_count,
    format_duration,
    format_memory,
    format_task,
    progress_bar,
)
from clarinet_tui.ui.text.styled import GAP, Span, styled

if TYPE_CHECKING:
    from clarinet_tui.devices.device import Device, DeviceProcess
    from clarinet_tui.history.queries import RunRow
    from clarinet_tui.ui.snapshot.machine import MachineSnapshot, QueueRow

HOT, FULL = 80, 0.9
"""Temperature in °C and share of memory from which they are highlighted."""
NAME = 22
MARGIN = " " * 9
"""Indentation of the runs and processes of a device."""
BAR = 10
NO_PROCESSES = "process list unavailable"


def format_device_name(device: Device) -> str:
    """Format the model without its vendor, and the number of cores."""
    name = device.name.removeprefix("NVIDIA ").removeprefix("GeForce ")
    return name if device.cores is None else f"{name}, {format_count(device.cores, 'core')}"


def format_load(device: Device, bar_width: int) -> list[Span]:
    """Format use, memory and temperature in columns."""
    use = None if device.use is None else device.use / 100
    memory = None
    if device.memory_total and device.memory_used is not None:
        memory = device.memory_used / device.memory_total
    temperature = "" if device.temperature is None else f"{device.temperature}"
    return [
        *_bar_spans(use, bar_width),
        (f"{'?' if device.use is None else format(device.use, '.0f'):>4} %", ""),
        GAP,
        *_bar_spans(memory, bar_width, FULL),
        (f"{format_memory(device.memory_used, device.memory_total):>15}", ""),
        (f"{temperature:>5}", "warn" if (device.temperature or 0) >= HOT else "muted"),
    ]


def _bar_spans(share: float | None, width: int, limit: float = 2.0) -> list[Span]:
    if not width:
        return []
    done, rest = progress_bar(share or 0.0, width)
    return [(done, "warn" if (share or 0.0) >= limit else "live"), (rest, "faint")]


def format_occupants(device: Device, machine: MachineSnapshot) -> list[Span]:
    """Format the runs and other processes on a device in one line, or that it is free."""
    if device.problem and device.is_gpu:
        return [(device.problem, "bad")]
    spans: list[Span] = [(f"▸ {row.id} ", "live") for row in _runs_on(device, machine)]
    processes = _foreign_processes(device, machine)
    spans += [(f"{_format_process(process)} ", "warn") for process in processes if process.computes]
    if device.processes is None:
        return [*spans, (NO_PROCESSES, "muted")]
    return spans or _availability(device, machine, with_reason=False)


def _runs_on(device: Device, machine: MachineSnapshot) -> list[QueueRow]:
    return [row for row in machine.queue_rows if row.started_on == device.key]


def _foreign_processes(device: Device, machine: MachineSnapshot) -> list[DeviceProcess]:
    return [process for process in device.processes or () if process.pid not in machine.workers]


def _format_process(process: DeviceProcess) -> str:
    return f"{process.owner or '?'}: {process.command or '?'} {process.pid}"


def format_device(device: Device, machine: MachineSnapshot, running: Mapping[str, RunRow], width: int) -> Content:
    """Format a device, with a line for each run and process on it."""
    name_width, bar_width = _column_widths(width)
    name = fit_width(format_device_name(device), name_width)
    first = styled(
        (f" {device.label:<7} ", "strong"),
        (f"{name} ", "muted"),
        *format_load(device, bar_width),
        (f"{machine.queue.slots_for(device.key):>6}  ", "muted"),
        *_availability(device, machine, with_reason=width >= 100),
    )
    lines = [first, *(_format_queue_row(row, running.get(row.id)) for row in _runs_on(device, machine))]
    if not device.is_gpu:
        queued = {row.id for row in machine.queue_rows}
        lines += [_format_run(run) for run in _unqueued_cpu_runs(running.values(), queued, machine.host)]
    lines += [_format_process_line(process) for process in _foreign_processes(device, machine)]
    lines = [line.truncate(width, ellipsis=True) for line in lines]
    if device.problem:
        lines.append(styled((MARGIN + device.problem, "bad")))
    elif device.processes is None:
        lines.append(styled((MARGIN + NO_PROCESSES, "muted")))
    return Content("\n").join(lines)


def format_device_header(width: int) -> Content:
    names, bars = _column_widths(width)
    titles = f" {'device':<7} {'':<{names}} {'use':<{bars + 8}}{'memory':<{bars + 17}}{'°C':>5}{'slots':>6}"
    return styled((titles, "muted"))


def _column_widths(width: int) -> tuple[int, int]:
    """The widths of a device's name and of a bar."""
    return (17, 5) if width < 100 else (NAME, min(30, (width - 110) // 2))


def _availability(device: Device, machine: MachineSnapshot, *, with_reason: bool) -> list[Span]:
    """Whether a run could start on a GPU now; nothing if it has runs already."""
    if _runs_on(device, machine) or not device.is_gpu or device.processes is None:
        return []
    reason = unavailable_reason(device, ours=machine.workers)
    if reason is None:
        return [("free", "good")]
    if any(process.computes for process in _foreign_processes(device, machine)):
        return [("busy", "warn")]
    return [] if device.problem else [("full", "warn"), (f"  {reason}" if with_reason else "", "muted")]


def _unqueued_cpu_runs(running: Iterable[RunRow], queued: set[str], host: str) -> list[RunRow]:
    """Runs on this machine's CPU that were not started from the queue."""
    return [run for run in running if run.id not in queued and run.host == host and (run.device or "") == "cpu"]


def _format_queue_row(row: QueueRow, run: RunRow | None) -> Content:
    state = [("stopping", "warn")] if row.is_stopping else format_progress(run) if run else []
    return _run_line(row.id, row.method, row.task, row.seed, state)


def _format_run(run: RunRow) -> Content:
    return _run_line(run.id, run.method or "?", run.task, run.seed, format_progress(run))


def _run_line(run: str, method: str, task: str | None, seed: int | None, state: list[Span]) -> Content:
    text = f"{run}  {method}  {format_task(task)}  seed {'?' if seed is None else seed}"
    return styled((f"{MARGIN}▸ ", "live"), (text, ""), *([GAP, *state] if state else []))


def format_progress(run: RunRow) -> list[Span]:
    """Format a short progress bar and the time left."""
    share, left = run.progress, run.seconds_left
    if share is None:
        return [(run.state, "muted")]
    done, rest = progress_bar(share, BAR)
    text = f" {share:.0%}" + (f" {format_duration(left)} left" if left else "")
    return [(done, "live"), (rest, "faint"), (text, "muted")]


def _format_process_line(process: DeviceProcess) -> Content:
    memory = "" if process.memory is None else f", {format_bytes(process.memory)}"
    kind = "compute" if process.computes else "graphics"
    return styled((f"{MARGIN}{_format_process(process)} {kind}{memory}", "warn" if process.computes else "muted"))
