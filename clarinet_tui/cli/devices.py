"""`clarinet devices`: the GPUs and the CPU, and the processes on them."""

import math
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

from clarinet_tui.cli.options import RUNS, Json, Jsonl, RunsDir
from clarinet_tui.cli.output import make_console, print_json, print_json_rows
from clarinet_tui.devices.device import Device, DeviceProcess, recommended_slots
from clarinet_tui.devices.local import DeviceReader
from clarinet_tui.runs.memory_peaks import read_largest_peak
from clarinet_tui.tables.table import Cell, Column, make_table
from clarinet_tui.tables.writers import to_rich
from clarinet_tui.text import format_bytes, format_count, format_memory, percent_bars, printable

if TYPE_CHECKING:
    from rich.console import Group

Watch = Annotated[bool, Option("--watch", help="Refresh every second until Ctrl+C.")]
HISTORY, BARS = 60, 12
"""Reads whose use is shown, and the characters that show it."""


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
    used = f"Runs here have used up to {format_bytes(peak)} of a GPU"
    if slots == 1:
        return f"{used}: one at a time fits on each."
    return f"{used}: `clarinet queue slots gpu={slots}` starts {slots} on each."


def _format_process(process: DeviceProcess) -> str:
    """Format as "ann: python 4242 (9.0 GiB)" or "root: Xorg 900 graphics"."""
    memory = "" if process.memory is None else f" ({format_bytes(process.memory)})"
    graphics = "" if process.computes else " graphics"
    return printable(f"{process.owner or '?'}: {process.command or '?'} {process.pid}{memory}{graphics}")
