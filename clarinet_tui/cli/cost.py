"""Say what runs will cost before they start, and ask before a long sweep."""

import sys
from collections.abc import Sequence
from pathlib import Path

import typer

from clarinet_tui.analysis.run_estimate import Estimator
from clarinet_tui.cli.output import warn
from clarinet_tui.devices.local import list_devices
from clarinet_tui.history.database import Database
from clarinet_tui.text import format_count, format_duration
from core.config import RunConfig
from core.errors import InputError

LONG = 3600.0
"""Seconds of training that a sweep may take without a question."""


def warn_of_cost(config: RunConfig, runs_dir: Path, data_dir: Path) -> None:
    """Say how long a run takes whose preset the user did not choose."""
    on_gpu = _uses_gpu([config.device])
    estimate = _make_estimator(runs_dir, data_dir, on_gpu).estimate(config)
    length = f"{config.warmup_epochs + config.epochs} epochs"
    if estimate is not None:
        seconds = f"roughly {format_duration(estimate.seconds)}"
        length = f"{estimate.iterations} iterations, {seconds} on this {'GPU' if on_gpu else 'CPU'}"
    advice = "" if on_gpu else "; --preset quick takes minutes, --preset smoke seconds"
    warn(f"no preset was chosen: {config.preset} trains {length}{advice}")


def confirm_cost(configs: Sequence[RunConfig], runs_dir: Path, data_dir: Path) -> None:
    """Ask before more than an hour of training, or training of unknown length, is queued; without a terminal, warn."""
    estimator = _make_estimator(runs_dir, data_dir, _uses_gpu({config.device for config in configs}))
    estimates = estimator.estimate_all(configs)
    known = [estimate for estimate in estimates if estimate is not None]
    seconds = sum(estimate.seconds for estimate in known)
    if len(known) == len(configs) and seconds <= LONG:
        return
    length = f"roughly {format_duration(seconds)} of training" if len(known) == len(configs) else "of unknown length"
    iterations = sum(estimate.iterations for estimate in known)
    counted = f", {format_count(iterations, 'iteration')}" if iterations else ""
    total = f"{format_count(len(configs), 'run')}{counted}, {length}"
    if sys.stdin.isatty():
        typer.confirm(f"{total}. Queue?", abort=True)
    else:
        warn(total)


def _make_estimator(runs_dir: Path, data_dir: Path, on_gpu: bool) -> Estimator:
    try:
        database = Database.open_read_only(runs_dir)
    except InputError:  # there are no runs yet
        database = None
    return Estimator(database, data_dir, on_gpu=on_gpu)


def _uses_gpu(requests: set[str] | list[str]) -> bool:
    has_gpu = any(device.is_gpu for device in list_devices(seconds=0))
    return has_gpu and "cpu" not in requests
