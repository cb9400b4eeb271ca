"""`clarinet devices` and `clarinet doctor`: the GPUs and the CPU of this machine, and checks of what runs need."""

import math
import os
import platform
import shutil
import sys
import time
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from clarinet_tui.cli.options import DATA, RUNS, DataDir, Json, Jsonl, RunsDir
from clarinet_tui.cli.output import make_console, print_json, print_json_rows, quiet_pipe, warn
from clarinet_tui.devices.device import Device, DeviceProcess, recommended_slots
from clarinet_tui.devices.local import DeviceReader, find_torch, list_devices
from clarinet_tui.doctor import checks
from clarinet_tui.doctor.repair import repair as repair_runs
from clarinet_tui.history.database import database_path
from clarinet_tui.runs.memory_peaks import read_largest_peak
from clarinet_tui.tables.table import Cell, Column, make_table
from clarinet_tui.tables.writers import to_rich
from clarinet_tui.text import format_bytes, format_count, format_memory, percent_bars, printable
from core.errors import InputError

if TYPE_CHECKING:
    from rich.console import Group

Watch = Annotated[bool, Option("--watch", help="Refresh every second until Ctrl+C.")]
HISTORY, BARS = 60, 12
"""Reads whose use is shown, and the characters that show it."""
SIGNS = {"good": ("✓", "green"), "warning": ("!", "yellow"), "bad": ("✗", "red")}
"""The sign of a verdict and its colour."""


def devices(json: Json = False, jsonl: Jsonl = False, watch: Watch = False, runs_dir: RunsDir = RUNS) -> None:
    """List GPUs and CPU with their load and processes.

    --watch adds the use in the last minute. The recommended number of slots follows from the runs of the directory.

    Example: clarinet devices --watch
    """
    console, history = make_console(), defaultdict[str, deque[float]](partial(deque, maxlen=HISTORY))
    try:
        if watch and console.is_terminal and not (json or jsonl):
            from rich.live import Live

            with Live(console=console, auto_refresh=False) as live:
                for found in _poll_devices(watch):
                    for device in found:
                        history[device.key].append(math.nan if device.utilization is None else device.utilization)
                    live.update(_view(found, history), refresh=True)
        else:
            for found in _poll_devices(watch):
                if jsonl:
                    print_json_rows(map(asdict, found), lines=True)
                elif json:
                    print_json([*map(asdict, found)], indent=None if watch else 2)  # while watched, an array a line
                else:
                    console.print(_view(found, {}, _recommend_slots(found, runs_dir)))
                sys.stdout.flush()
    except KeyboardInterrupt:
        raise typer.Exit(0 if watch else 130) from None  # Ctrl+C is the normal way to stop watching


def _poll_devices(watch: bool) -> Iterator[list[Device]]:
    """Yield the devices once; with `watch`, every second without end."""
    with DeviceReader() as reader:
        yield reader.read()
        while watch:
            time.sleep(1.0)
            yield reader.read()


def _view(devices: list[Device], history: Mapping[str, Sequence[float]], advice: str | None = None) -> "Group":
    """Return the table, with the last minute's use if it is watched, and what needs attention below it."""
    from rich.console import Group
    from rich.text import Text

    numbers = [Column(title, right=True) for title in ("memory", "°C", "W")]
    use = [Column("use", right=True), Column("last minute", optional=True)]
    columns = [Column("device"), Column("name", wraps=True), *use, *numbers, Column("processes", wraps=True)]
    rows = []
    for device in devices:
        cores = "" if device.cores is None else f", {format_count(device.cores, 'core')}"
        mode = "" if device.compute_mode == "default" else f", {device.compute_mode}"
        last = history.get(device.key)
        rows.append(
            (
                device.label,
                device.name.removeprefix("NVIDIA ") + cores + mode,
                "?" if device.utilization is None else f"{device.utilization:.0f} %",
                Cell(percent_bars(list(last), HISTORY // BARS, BARS), "good") if last else "",
                format_memory(device.memory_used, device.memory_total),
                device.temperature,
                None if device.power is None else f"{device.power:.0f}",
                "?" if device.processes is None else "\n".join(map(_format_process, device.processes)),
            )
        )
    attention = (f"{device.label}: {device.warning}" for device in devices if device.warning)
    notes = [*(device.problem or device.note for device in devices), *attention]
    return Group(
        to_rich(make_table(columns, rows)),
        *(Text(printable(note), style="yellow") for note in notes if note),
        *([advice] if advice else []),
    )


def _recommend_slots(devices: list[Device], runs_dir: Path) -> str | None:
    """Return how many runs may share a GPU, by the largest peak memory of the runs so far."""
    gpus = [device for device in devices if device.is_gpu and not device.problem]
    peak = read_largest_peak(runs_dir) if gpus else None
    if peak is None:
        return None
    slots = min(recommended_slots(gpu, peak) for gpu in gpus)
    several = f"`clarinet queue slots gpu={slots}` starts {slots} on each"
    advice = "one at a time fits on each" if slots == 1 else several
    return f"Runs here have used up to {format_bytes(peak)} of a GPU: {advice}."


def _format_process(process: DeviceProcess) -> str:
    """Format as "ann: python 4242 (9.0 GiB)" or "root: Xorg 900 graphics"."""
    memory = "" if process.memory is None else f" ({format_bytes(process.memory)})"
    graphics = "" if process.computes else " graphics"
    return printable(f"{process.owner or '?'}: {process.command or '?'} {process.pid}{memory}{graphics}")


def doctor(
    deep: Annotated[bool, Option("--deep", help="Also compute with torch on every device, and ask a node.")] = False,
    repair: Annotated[bool, Option("--repair", help="First repair what can be repaired; nothing is deleted.")] = False,
    json: Json = False,
    jsonl: Jsonl = False,
    runs_dir: RunsDir = RUNS,
    data_dir: DataDir = DATA,
) -> None:
    """Check Python, torch, devices, data, disk and history.

    The exit code is 1 if a check fails. --repair releases the locks of dead processes, renames unreadable files that
    runs can do without, and ingests runs again whose history differs from their journal.

    Example: clarinet doctor --deep
    """
    from rich.table import Column, Table
    from rich.text import Text

    if repair:
        for action in repair_runs(runs_dir):
            warn(f"repaired: {action}")
    results = []
    with quiet_pipe():
        for check in _run_checks(runs_dir, data_dir, deep):
            results.append(check)
            if json or jsonl:
                continue
            sign, colour = SIGNS[check.verdict]
            line = Table.grid(Column(width=2), Column(width=13), Column(overflow="fold"), padding=(0, 1, 0, 0))
            line.add_row(Text(sign, style=colour), Text(check.name), Text(printable(check.message)))
            if check.advice:
                line.add_row("", "", Text(printable(check.advice), style="bold" if check.verdict != "good" else "dim"))
            make_console().print(line)
        if json or jsonl:
            print_json_rows((asdict(check) for check in results), lines=jsonl)
    raise typer.Exit(1 if any(check.verdict == "bad" for check in results) else 0)


def _run_checks(runs_dir: Path, data_dir: Path, deep: bool) -> Iterator[checks.CheckResult]:
    """Yield each result as soon as its check is done."""
    devices = list_devices(seconds=0)
    yield checks.CheckResult("Python", "good", platform.python_version())
    yield checks.check_torch(find_torch(), sum(device.is_gpu for device in devices))
    if deep:
        yield checks.check_torch_works()
    yield from checks.check_plugins()
    yield checks.check_devices(devices)
    yield checks.check_data(data_dir)
    yield checks.check_free_space(runs_dir)
    yield checks.check_runs_size(runs_dir)
    yield checks.check_writing(runs_dir)
    yield checks.check_clock(runs_dir)
    yield checks.check_run_files(runs_dir)
    try:
        database = database_path(runs_dir)
    except InputError as error:
        yield checks.CheckResult("history", "bad", str(error))
    else:
        yield checks.check_file_system(runs_dir, database)
        yield checks.check_database(database)
        yield checks.check_journals(runs_dir, database)
    yield checks.check_queue(runs_dir)
    yield checks.check_supervisor(runs_dir)
    if shutil.which("sinfo") is not None:
        yield checks.check_controller()
        if deep:
            yield checks.check_node(runs_dir)
    yield checks.check_terminal(os.environ, os.get_terminal_size() if sys.stdout.isatty() else None)
