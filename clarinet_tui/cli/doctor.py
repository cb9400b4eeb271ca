"""`clarinet doctor`: check what runs need."""

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from clarinet_tui.cli.options import DATA, RUNS, DataDir, Json, Jsonl, RunsDir
from clarinet_tui.cli.output import make_console, print_json_rows, quiet_pipe, warn
from clarinet_tui.devices.local import find_torch, list_devices
from clarinet_tui.doctor import checks
from clarinet_tui.doctor.checks import CheckResult
from clarinet_tui.doctor.repair import repair as repair_runs
from clarinet_tui.history.database import database_path
from clarinet_tui.text import printable
from core.errors import InputError

SIGNS = {"good": ("✓", "green"), "warning": ("!", "yellow"), "bad": ("✗", "red")}
"""The sign of a verdict and its colour."""


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


def _run_checks(runs_dir: Path, data_dir: Path, deep: bool) -> Iterator[CheckResult]:
    """Yield each result as soon as its check is done."""
    devices = list_devices(seconds=0)
    yield CheckResult("Python", "good", platform.python_version())
    yield checks.check_torch(find_torch(), sum(device.is_gpu for device in devices))
    if deep:
        yield checks.check_torch_works()
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
        yield CheckResult("history", "bad", str(error))
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
