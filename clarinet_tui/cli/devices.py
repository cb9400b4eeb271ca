"""`clarinet devices`: the GPUs and the CPU, and the processes on them."""

import json as json_
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from clarinet_tui.cli.options import Json
from clarinet_tui.cli.output import as_object, make_console
from clarinet_tui.text import format_bytes, format_count, format_memory, printable

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

    from clarinet_tui.devices.device import Device, DeviceProcess

Watch = Annotated[bool, typer.Option("--watch", help="Refresh every second until Ctrl+C.")]
COLUMNS = ("device", "name", "use", "memory", "°C", "processes")
SECONDS = 1.0


def devices(json: Json = False, watch: Watch = False) -> None:
    """List GPUs and CPU with their load and processes.

    Example: clarinet devices --watch
    """
    try:
        if json:
            _print_json(watch)
        else:
            _print_tables(watch)
    except KeyboardInterrupt:
        raise typer.Exit(0 if watch else 130) from None  # Ctrl+C is the normal way to stop watching


def _poll_devices(watch: bool) -> "Iterator[list[Device]]":
    """Yield the devices once; with `watch`, every second without end."""
    from clarinet_tui.devices.local import list_devices

    yield list_devices()
    while watch:
        time.sleep(SECONDS)
        yield list_devices()


def _print_json(watch: bool) -> None:
    """Print a list; with `watch`, one list per line."""
    for found in _poll_devices(watch):
        objects = [as_object(device, problem="trouble") for device in found]
        print(json_.dumps(objects, indent=None if watch else 2), flush=True)


def _print_tables(watch: bool) -> None:
    from rich.live import Live

    console = make_console()
    polls = _poll_devices(watch)
    if not (watch and console.is_terminal):
        for found in polls:
            console.print(_view(found))
            console.file.flush()
        return
    with Live(_view(next(polls)), console=console, auto_refresh=False) as live:
        for found in polls:
            live.update(_view(found), refresh=True)


def _view(found: "list[Device]") -> "Group":
    """Return the table with the problems of devices below it."""
    from rich.console import Group
    from rich.text import Text

    problems = (Text(printable(device.problem), style="yellow") for device in found if device.problem)
    return Group(_table(found), *problems)


def _table(found: "list[Device]") -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for title in COLUMNS:
        numbers = title in ("use", "memory", "°C")
        wraps = title in ("name", "processes")
        table.add_column(title, justify="right" if numbers else "left", no_wrap=not wraps, overflow="fold")
    for device in found:
        table.add_row(*(Text("\n".join(map(printable, lines))) for lines in _cells(device)))
    return table


def _cells(device: "Device") -> tuple[list[str], ...]:
    """Return the lines of each cell: every process has one."""
    cores = "" if device.cores is None else f", {format_count(device.cores, 'core')}"
    return (
        [device.label],
        [device.name.removeprefix("NVIDIA ") + cores],
        ["?" if device.use is None else f"{device.use:.0f} %"],
        [format_memory(device.memory_used, device.memory_total)],
        ["" if device.temperature is None else str(device.temperature)],
        ["?"] if device.processes is None else [_format_process(process) for process in device.processes],
    )


def _format_process(process: "DeviceProcess") -> str:
    """Format as "ann: python 4242 (9.0 GiB)" or "root: Xorg 900 graphics"."""
    memory = "" if process.memory is None else f" ({format_bytes(process.memory)})"
    graphics = "" if process.computes else " graphics"
    return f"{process.owner or '?'}: {process.command or '?'} {process.pid}{memory}{graphics}"
