"""The Devices view as text: devices with their load, runs and other processes, the queue, and the last ended runs."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.content import Content

from clarinet_tui.devices.device import unavailable_reason
from clarinet_tui.tables.setting_columns import MAX_VARIED, setting_text, varied_columns
from clarinet_tui.tables.table import Column, fit_columns
from clarinet_tui.text import (
    fit_width,
    format_age_of,
    format_bytes,
    format_count,
    format_duration,
    format_energy,
    format_memory,
    format_percent,
    format_seed,
    format_task,
    progress_bar,
    sparkline,
)
from clarinet_tui.ui.text.styled import GAP, STATE_STYLES, Span, fit_spans, styled

if TYPE_CHECKING:
    from clarinet_tui.devices.device import Device, DeviceProcess, Partition
    from clarinet_tui.history.queries import RunRow
    from clarinet_tui.place import QueueRow
    from clarinet_tui.ui.snapshot.machine import MachineSnapshot

NAME = 22
MARGIN = " " * 9
"""Indentation of the runs and processes of a device."""
NO_PROCESSES = "process list unavailable"


def format_device_name(device: Device) -> str:
    """Format the model without its vendor, and the number of cores."""
    name = device.name.removeprefix("NVIDIA ").removeprefix("GeForce ")
    return name if device.cores is None else f"{name}, {format_count(device.cores, 'core')}"


def format_load(device: Device, bar_width: int, use_so_far: Sequence[float] = ()) -> list[Span]:
    """Format use, memory and temperature in columns; the use so far is drawn over time, from 0 to 100 %."""
    use = "?" if device.utilization is None else f"{device.utilization:.0f}"
    memory = (device.memory_used or 0) / device.memory_total if device.memory_total else 0.0
    temperature = "" if device.temperature is None else f"{device.temperature}"
    use_bar, use_rest = progress_bar((device.utilization or 0) / 100, bar_width)
    if use_so_far:
        use_bar, use_rest = sparkline(use_so_far, bar_width, (0.0, 100.0)), ""
    memory_bar, memory_rest = progress_bar(memory, bar_width)
    return [
        *((use_bar, "live"), (use_rest, "faint"), (f"{use:>4} %", ""), GAP),
        *((memory_bar, "warn" if memory >= 0.9 else "live"), (memory_rest, "faint")),
        (f"{format_memory(device.memory_used, device.memory_total):>15}", ""),
        (f"{temperature:>5}", "warn" if (device.temperature or 0) >= 80 else "muted"),
    ]


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


def format_device(
    device: Device,
    machine: MachineSnapshot,
    running: Mapping[str, RunRow],
    width: int,
    use: Sequence[float] = (),
) -> Content:
    """Format a device with its use so far in percent, and a line for each run and process on it."""
    name_width, bar_width = _device_widths(width)
    name = fit_width(format_device_name(device), name_width)
    spans = [(f" {device.label:<7} ", "strong"), (f"{name} ", "muted")]
    spans += format_load(device, bar_width, use if width >= 130 else ())
    spans.append((f"{machine.queue.slots_for(device.key):>6}  ", "muted"))
    lines = [styled(*spans, *_availability(device, machine, with_reason=width >= 100))]
    varied = machine.varied[:MAX_VARIED]
    lines += [_format_run(row, running.get(row.id), varied, row.is_stopping) for row in _runs_on(device, machine)]
    if not device.is_gpu:
        queued = {row.id for row in machine.queue_rows}
        on_cpu = (run for run in running.values() if run.host == machine.host and run.device == "cpu")
        lines += [_format_run(run, run, varied) for run in on_cpu if run.id not in queued]
    for process in _foreign_processes(device, machine):
        memory = "" if process.memory is None else f", {format_bytes(process.memory)}"
        kind, role = ("compute", "warn") if process.computes else ("graphics", "muted")
        lines.append(styled((f"{MARGIN}{_format_process(process)} {kind}{memory}", role)))
    lines = [line.truncate(width, ellipsis=True) for line in lines]
    if device.problem:
        lines.append(styled((MARGIN + device.problem, "bad")))
    elif device.processes is None:
        lines.append(styled((MARGIN + NO_PROCESSES, "muted")))
    lines += [styled((MARGIN + text, "warn")) for text in (device.warning, device.note) if text]
    return Content("\n").join(lines)


def format_device_header(width: int) -> Content:
    names, bars = _device_widths(width)
    titles = f" {'device':<7} {'':<{names}} {'use':<{bars + 8}}{'memory':<{bars + 17}}{'°C':>5}{'slots':>6}"
    return styled((titles, "muted"))


def format_partition(partition: Partition, width: int) -> Content:
    """Format a partition of Slurm: its nodes and CPUs in use, idle, down and in all, and its time limit."""
    allocated, idle, other, total = (f"{partition.nodes}/?/?/?".split("/"))[:4]
    down = f", {other} down" if other not in ("0", "?") else ""
    line = styled(
        (f" {'slurm':<7} ", "strong"),
        (f"{partition.name}{' (default)' if partition.is_default else ''}  ", ""),
        (f"{idle} of {total} nodes idle, {allocated} in use{down}", "good" if idle not in ("0", "?") else "muted"),
        (f"  limit {partition.time_limit}", "muted"),
        (f"  {partition.gres}" if partition.gres else "", "muted"),
        ("" if partition.available == "up" else f"  {partition.available}", "warn"),
    )
    return line.truncate(width, ellipsis=True)


def _device_widths(width: int) -> tuple[int, int]:
    """The widths of a device's name and of a bar."""
    return (17, 5) if width < 100 else (NAME, max(0, min(30, (width - 110) // 2)))


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


def _format_run(
    row: QueueRow | RunRow, run: RunRow | None, varied: Sequence[str], is_stopping: bool = False
) -> Content:
    """Format a run of the queue or of the history, with these settings and the progress of the history's run."""
    progress = [("stopping", "warn")] if is_stopping else format_progress(run) if run else []
    seed = format_seed(row.seed)
    settings = [f"{name}={setting_text(row.settings, name)}" for name in varied if name in row.settings]
    text = "  ".join([row.id, row.method or "?", format_task(row.task), f"seed {seed}", *settings])
    return styled((f"{MARGIN}▸ ", "live"), (text, ""), *([GAP, *progress] if progress else []))


def format_progress(run: RunRow) -> list[Span]:
    """Format a short progress bar and the time left."""
    share, left = run.progress, run.seconds_left
    if share is None:
        return [(run.state, "muted")]
    done, rest = progress_bar(share, 10)
    text = f" {share:.0%}" + (f" {format_duration(left)} left" if left else "")
    return [(done, "live"), (rest, "faint"), (text, "muted")]


@dataclass(frozen=True)
class QueueColumn(Column):
    """A column of the queue; without `render`, a setting's."""

    size: int = 0
    render: Callable[[QueueRow | RunRow], Span] | None = None

    def format(self, run: QueueRow | RunRow) -> Span:
        return self.render(run) if self.render else (setting_text(run.settings, self.title), "")


POSITION, GLYPH, DEVICE = (
    QueueColumn("", size=3),
    QueueColumn("", size=1),
    QueueColumn("device", drop=2, size=7),
)
"""Columns whose cells are made by the caller."""
QUEUE_COLUMNS = (
    POSITION,
    GLYPH,
    QueueColumn("run", size=9, render=lambda run: (run.id, "muted")),
    QueueColumn("method", size=15, render=lambda run: (run.method or "?", "")),
    QueueColumn("task", size=7, render=lambda run: (format_task(run.task), "")),
    QueueColumn("seed", right=True, size=4, render=lambda run: (format_seed(run.seed), "")),
    DEVICE,
)
"""The rest of the line is for what a run waits for."""
LEAST_REASON = 15
"""Columns for what a run waits for, if settings are shown; the whole reason is shown for the run at the cursor."""


@dataclass(frozen=True)
class QueueLayout:
    """The columns of the queue that fit, with their widths, and the width of the whole line."""

    columns: Sequence[tuple[QueueColumn, int]]
    width: int

    @property
    def used(self) -> int:
        """The columns of the screen before what a run waits for."""
        return 1 + sum(size + 1 for _, size in self.columns)


def fit_queue(machine: MachineSnapshot, width: int) -> QueueLayout:
    """Lay out the queue: method and task grow, and settings that differ are shown, where there is room."""
    extra = max(0, min(16, (width - 92) // 6))
    sizes = [column.size + (extra if column.title in ("method", "task") else 0) for column in QUEUE_COLUMNS]
    columns = list(QUEUE_COLUMNS)
    if not machine.varied:
        return QueueLayout(list(zip(columns, sizes, strict=True)), width)
    settings = [QueueColumn(column.title, right=True, drop=column.drop) for column in varied_columns(machine.varied)]
    place = columns.index(DEVICE)
    columns[place:place] = settings
    sizes[place:place] = [
        max(map(cell_len, (column.title, *(column.format(row)[0] for row in machine.queue_rows))))
        for column in settings
    ]
    fitted = fit_columns(columns, sizes, max(width - 1 - LEAST_REASON, sum(sizes[:place]) + place))
    return QueueLayout([(columns[position], size) for position, size in fitted.items()], width)


def format_queue_header(layout: QueueLayout) -> Content:
    titles = [f"{column.title:{'>' if column.right else '<'}{size}}" for column, size in layout.columns]
    return styled((" " + " ".join([*titles, "waits for"]), "muted"))


def format_queued_run(row: QueueRow, machine: MachineSnapshot, run: RunRow | None, layout: QueueLayout) -> Content:
    started_on = machine.find_device(row.started_on)
    device = (started_on.label if started_on else row.started_on) if row.started_on else row.device
    glyph: Span = ("▸", "live") if row.started_on else ("‖", "warn") if row.is_paused else ("◦", "muted")
    line = _format_cells((f"{row.position or '':>3}", "muted"), glyph, row, device, layout)
    return (line + styled(*_state_spans(row, machine, run))).truncate(layout.width, ellipsis=True)


def _format_cells(position: Span, glyph: Span, run: QueueRow | RunRow, device: str, layout: QueueLayout) -> Content:
    """Format a run in the columns of the queue."""
    given = {POSITION: position, GLYPH: glyph, DEVICE: (device, "muted")}
    spans = ((given.get(column) or column.format(run), column.right, size) for column, size in layout.columns)
    cells = [styled(*fit_spans([span], size, right=right)) for span, right, size in spans]
    return Content(" ").join([Content(""), *cells, Content("")])


def reason_fits(row: QueueRow, layout: QueueLayout) -> bool:
    """Whether the line has room for all that the run waits for."""
    return layout.used + len(row.waits_for) <= layout.width


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


def format_ended_runs(runs: Sequence[RunRow], now: float, layout: QueueLayout) -> Content:
    """Format these runs below each other, in the columns of the queue."""
    lines = [styled((" Last ended", "strong"))] if runs else []
    for run in runs:
        age = f"{format_age_of(run.ended or 0.0, now):<8}"
        line = _format_cells(("", ""), STATE_STYLES[run.state], run, run.device or "", layout)
        line += styled((f"{format_percent(run.target_accuracy):>5}", "strong"), (f"  {age}  ", "muted"))
        use = format_use(run)
        use = use if line.cell_length + len(use) <= layout.width else use.partition(",")[0]
        lines.append((line + styled((use, "muted"))).truncate(layout.width, ellipsis=True))
    return Content("\n").join(lines)


def format_use(run: RunRow) -> str:
    """Format the time of a run, and the use, memory and energy of its GPU, or the memory of its processes."""
    parts = ["" if not run.seconds else format_duration(run.seconds)]
    parts.append("" if run.gpu_use is None else f"GPU {run.gpu_use:.0f} %")
    memory = run.gpu_memory if run.gpu_memory is not None else run.memory
    parts.append("" if memory is None else format_bytes(memory))
    parts.append("" if run.energy is None else format_energy(run.energy))
    return ", ".join(filter(None, parts))
