"""`clarinet devices`: what runs can compute on, and who does."""

import json as json_
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from clarinet_tui.cli.options import Json
from clarinet_tui.text import format_count, printable

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

    from clarinet_tui.devices.device import Device, DeviceProcess

Watch = Annotated[bool, typer.Option("--watch", help="Look again every second until Ctrl+C.")]
COLUMNS = ("device", "name", "use", "memory", "°C", "who is there")
SECONDS = 1.0
WIDE = 200
"""Columns of a file."""
GIB = 1 << 30


def devices(json: Json = False, watch: Watch = False) -> None:
    """List the GPUs and the CPU: use, memory, temperature and who computes there.

    Example: clarinet devices --watch
    """
    try:
        if json:
            _print_json(watch)
        else:
            _print_tables(watch)
    except KeyboardInterrupt:
        # It is how one stops watching, and nothing is left undone.
        raise typer.Exit(0 if watch else 130) from None


def _looks(watch: bool) -> "Iterator[list[Device]]":
    from clarinet_tui.devices.local import list_devices

    yield list_devices()
    while watch:
        time.sleep(SECONDS)
        yield list_devices()


def _print_json(watch: bool) -> None:
    """A list; when watching, one a line."""
    for seen in _looks(watch):
        objects = [asdict(device) for device in seen]
        print(json_.dumps(objects, indent=None if watch else 2), flush=True)


def _print_tables(watch: bool) -> None:
    from rich.console import Console
    from rich.live import Live

    console = Console(highlight=False, width=None if sys.stdout.isatty() else WIDE)
    looks = _looks(watch)
    if not (watch and console.is_terminal):
        for seen in looks:
            console.print(_shown(seen))
            console.file.flush()
        return
    with Live(_shown(next(looks)), console=console, auto_refresh=False) as live:
        for seen in looks:
            live.update(_shown(seen), refresh=True)


def _shown(seen: "list[Device]") -> "Group":
    """The table, and under it what is wrong."""
    from rich.console import Group
    from rich.text import Text

    problems = (f"{device.label}: {device.problem}" for device in seen if device.problem)
    return Group(_table(seen), *(Text(printable(problem), style="yellow") for problem in problems))


def _table(seen: "list[Device]") -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for title in COLUMNS:
        numbers = title in ("use", "memory", "°C")
        wraps = title in ("name", "who is there")
        table.add_column(title, justify="right" if numbers else "left", no_wrap=not wraps, overflow="fold")
    for device in seen:
        table.add_row(*(Text("\n".join(map(printable, lines))) for lines in _cells(device)))
    return table


def _cells(device: "Device") -> tuple[list[str], ...]:
    """Each cell in lines, so that every process has one."""
    cores = "" if device.cores is None else f", {format_count(device.cores, 'core')}"
    return (
        [device.label],
        [device.name.removeprefix("NVIDIA ") + cores],
        ["?" if device.use is None else f"{device.use:.0f} %"],
        [_memory(device)],
        ["" if device.temperature is None else str(device.temperature)],
        ["?"] if device.processes is None else [_who(process) for process in device.processes],
    )


def _memory(device: "Device") -> str:
    if device.memory_total is None or device.memory_used is None:
        return "?"
    return f"{device.memory_used / GIB:.1f}/{device.memory_total / GIB:.1f} GiB"


def _who(process: "DeviceProcess") -> str:
    """ann: python 4242 (9.0 GiB), or: root: Xorg 900 draws."""
    memory = "" if process.memory is None else f" ({process.memory / GIB:.1f} GiB)"
    draws = "" if process.computes else " draws"
    return f"{process.owner or '?'}: {process.command or '?'} {process.pid}{memory}{draws}"
