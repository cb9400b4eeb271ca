"""`clarinet doctor`: whether everything that runs need is in order."""

import io
import json as json_
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clarinet_tui.cli.options import DataDir, Json, RunsDir
from clarinet_tui.cli.output import quiet_pipe
from clarinet_tui.cli.places import DATA, RUNS
from clarinet_tui.text import printable

if TYPE_CHECKING:
    from clarinet_tui.doctor.machine import Check

SIGNS = {"good": ("✓", "green"), "warning": ("!", "yellow"), "bad": ("✗", "red")}
PLAIN = {"good": "ok", "warning": "!", "bad": "x"}


def doctor(
    deep: Annotated[
        bool, typer.Option("--deep", help="Also let torch compute on every device; takes seconds.")
    ] = False,
    json: Json = False,
    runs_dir: RunsDir = RUNS,
    data_dir: DataDir = DATA,
) -> None:
    """Check Python, torch, GPUs, data, disk, locks, clock, history and terminal; exit 1 if something is broken.

    Example: clarinet doctor --deep
    """
    from dataclasses import asdict

    found = examine(runs_dir, data_dir, deep)
    bad = False
    with quiet_pipe():
        if json:
            checks = list(found)
            bad = any(check.verdict == "bad" for check in checks)
            print(json_.dumps([asdict(check) for check in checks], indent=2))
        else:
            for check in found:
                bad |= check.verdict == "bad"
                _print(check)
    raise typer.Exit(1 if bad else 0)


def examine(runs_dir: Path, data_dir: Path, deep: bool) -> "Iterator[Check]":
    """One after the other, so that each is told at once."""
    from clarinet_tui.devices.local import list_devices
    from clarinet_tui.doctor import machine as checks
    from clarinet_tui.doctor import storage as storage_checks
    from clarinet_tui.history.database import database_path

    devices = list_devices(seconds=0)
    database = database_path(runs_dir)
    yield checks.check_python()
    yield checks.check_torch(checks.torch_folder(), sum(device.is_gpu for device in devices))
    if deep:
        yield checks.check_torch_works()
    yield checks.check_devices(devices)
    yield checks.check_data(data_dir)
    yield storage_checks.check_room(runs_dir, storage_checks.free_bytes(runs_dir))
    yield storage_checks.check_file_system(runs_dir, database, storage_checks.read_mounts())
    yield storage_checks.check_writing(runs_dir)
    yield storage_checks.check_clock(runs_dir)
    yield storage_checks.check_database(database)
    yield storage_checks.check_supervisor(runs_dir)
    yield checks.check_terminal(os.environ, os.get_terminal_size() if sys.stdout.isatty() else None)


def _print(check: "Check") -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    sign, colour = SIGNS[check.verdict]
    if isinstance(sys.stdout, io.TextIOWrapper) and "utf" not in sys.stdout.encoding.lower():
        sys.stdout.reconfigure(errors="replace")  # that is one of the things that may be wrong
        sign = PLAIN[check.verdict]
    line = Table.grid(padding=(0, 1, 0, 0))
    line.add_column(width=2)
    line.add_column(width=13)
    line.add_column(overflow="fold")
    line.add_row(Text(sign, style=colour), Text(check.name), Text(printable(check.sentence)))
    if check.advice:
        line.add_row("", "", Text(printable(check.advice), style="bold" if check.verdict != "good" else "dim"))
    Console(highlight=False, width=None if sys.stdout.isatty() else 200).print(line)
