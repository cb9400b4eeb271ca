"""`clarinet devices`: the GPUs and the CPU, and the processes on them."""

import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from clarinet_tui.cli.options import Json
from clarinet_tui.cli.output import as_object, make_console, print_json
from clarinet_tui.text import format_bytes, format_count, format_memory, printable

if TYPE_CHECKING:
    from rich.console import Group

    from clarinet_tui.devices.device import Device, DeviceProcess

Watch = Annotated[bool, Option("--watch", help="Refresh every second until Ctrl+C.")]
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
    for devices in _poll_devices(watch):
        print_json(
            [as_object(device, utilization="use", problem="trouble") for device in devices], indent=None if watch else 2
        )
        sys.stdout.flush()


def _print_tables(watch: bool) -> None:
    from rich.live import Live

    console = make_console()
    polls = _poll_devices(watch)
    if not (watch and console.is_terminal):
        for devices in polls:
            console.print(_view(devices))
            console.file.flush()
        return
    with Live(_view(next(polls)), console=console, auto_refresh=False) as live:
        for devices in polls:
            live.update(_view(devices), refresh=True)


def _view(devices: "list[Device]") -> "Group":
    """Return the table with the problems of devices below it."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for title in COLUMNS:
        is_number, wraps = title in ("use", "memory", "°C"), title in ("name", "processes")
        table.add_column(title, justify="right" if is_number else "left", no_wrap=not wraps, overflow="fold")
    for device in devices:
        table.add_row(*(Text("\n".join(map(printable, lines))) for lines in _cells(device)))
    problems = (Text(printable(device.problem), style="yellow") for device in devices if device.problem)
    return Group(table, *problems)


def _cells(device: "Device") -> tuple[list[str], ...]:
    """Return the lines of each cell: every process has one."""
    cores = "" if device.cores is None else f", {format_count(device.cores, 'core')}"
    return (
        [device.label],
        [device.name.removeprefix("NVIDIA ") + cores],
        ["?" if device.utilization is None else f"{device.utilization:.0f} %"],
        [format_memory(device.memory_used, device.memory_total)],
        ["" if device.temperature is None else str(device.temperature)],
        ["?"] if device.processes is None else [_format_process(process) for process in device.processes],
    )


def _format_process(process: "DeviceProcess") -> str:
    """Format as "ann: python 4242 (9.0 GiB)" or "root: Xorg 900 graphics"."""
    memory = "" if process.memory is None else f" ({format_bytes(process.memory)})"
    graphics = "" if process.computes else " graphics"
    return f"{process.owner or '?'}: {process.command or '?'} {process.pid}{memory}{graphics}"
