"""What `clarinet run` and `clarinet sweep` share: options, settings, durations, options of Slurm, and the cost."""

import re
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

from clarinet_tui.analysis.run_estimate import Estimator
from clarinet_tui.cli.completion import preset_names, run_ids
from clarinet_tui.cli.options import DATA, RUNS, DataDir, Json, Jsonl, On, RunsDir, Settings, SlurmPairs
from clarinet_tui.cli.output import warn
from clarinet_tui.devices.local import list_devices
from clarinet_tui.history.database import Database
from clarinet_tui.place import LaunchOptions, PlaceName, SlurmOptions
from clarinet_tui.queue.sweep import nest, parse_value
from clarinet_tui.runs.directory import find_run, read_toml
from clarinet_tui.text import format_count, format_duration
from clarinet_tui.worker.notifications import ON_END, parse_hook_command
from core.config import RunConfig, format_value, merge_settings
from core.errors import InputError
from core.resolve import resolve

DURATION = re.compile(r"(\d+d)?(\d+h)?(\d+m)?(\d+s)?", re.ASCII)
LONG = 3600.0
"""Seconds of training that a sweep may take without a question."""


@dataclass(frozen=True)
class Launch:
    """What a user chose for the start of runs; each field is an option."""

    preset: Annotated[
        str | None, Option(help="paper, literal, quick, smoke or photographs.", autocompletion=preset_names)
    ] = None
    epochs: Annotated[int | None, Option(help="Adaptation epochs.")] = None
    set_: Settings = None
    on_alarm: Annotated[
        str | None, Option(metavar="COMMAND", help="Run COMMAND on each alarm, without a shell; see CLARINET_ALARM.")
    ] = None
    on_end: Annotated[
        str | None, Option(metavar="COMMAND", help="Run COMMAND at the end, without a shell; see CLARINET_STATE.")
    ] = None
    not_before: Annotated[
        str | None, Option(metavar="TIME", help='Start at 22:00, "2026-11-18 22:00" or in 2h at the earliest.')
    ] = None
    after: Annotated[
        list[str] | None,
        Option(metavar="ID", help="Start when this run has finished; repeatable.", autocompletion=run_ids),
    ] = None
    time_limit: Annotated[
        str | None, Option(metavar="TIME", help="Save and stop after 90m, 2h30m or 1d of an attempt.")
    ] = None
    on: On = None
    slurm: SlurmPairs = None
    json: Json = False
    jsonl: Jsonl = False
    runs_dir: RunsDir = RUNS
    data_dir: DataDir = DATA

    def choose(self, **settings: Any) -> dict[str, Any]:
        """Return the settings that were chosen, with preset, epochs and those of --set, which win."""
        every = {**settings, "preset": self.preset, "epochs": self.epochs}
        return merge_pairs({name: value for name, value in every.items() if value is not None}, self.set_)

    def make_options(self, jobs: SlurmOptions | None, **options: Any) -> LaunchOptions:
        """Return how the runs are queued, here or with the options of Slurm jobs."""
        return LaunchOptions.from_paths(
            self.data_dir,
            on_alarm=() if self.on_alarm is None else parse_hook_command(self.on_alarm),
            on_end=() if self.on_end is None else parse_hook_command(self.on_end, option=ON_END),
            not_before=0.0 if self.not_before is None else parse_start_time(self.not_before, "--not-before"),
            after=tuple(find_run(self.runs_dir, prefix).id for prefix in self.after or []),
            time_limit=0.0 if self.time_limit is None else parse_duration(self.time_limit, "--time-limit"),
            slurm=jobs,
            **options,
        )


def slurm_options(
    on: PlaceName | None, pairs: list[str] | None, file: dict[str, Any] | None = None, source: str = ""
) -> SlurmOptions | None:
    """Return the options of Slurm jobs, of which the command line overrides the file; None for this machine.

    `on` and `slurm` are taken out of the file.
    """
    from clarinet_tui.slurm.options import parse_pairs, parse_table

    settings = {} if file is None else file
    named, table = settings.pop("on", None), settings.pop("slurm", {})
    if named is not None and named not in list(PlaceName):
        raise InputError(f"{source}: on: expected local or slurm, got {format_value(named)}")
    if not isinstance(table, dict):
        raise InputError(f"{source}: slurm: expected a table, got {format_value(table)}")
    base = parse_table(table, f"{source}: slurm")
    if (on or named or PlaceName.LOCAL) == PlaceName.LOCAL:
        if pairs:
            raise InputError("--slurm: needs --on slurm")
        return None
    return parse_pairs(pairs or [], base=base)


def parse_duration(text: str, option: str) -> float:
    """Parse 90m, 2h30m or 1d into seconds."""
    match = DURATION.fullmatch(text.strip()) if len(text) < 40 else None
    parts = zip(match.groups(), (86400, 3600, 60, 1), strict=True) if match else ()
    seconds = sum(int(part[:-1]) * unit for part, unit in parts if part)
    if not 0 < seconds <= 366 * 86400:
        raise InputError(f"{option}: expected a duration such as 90m, 2h30m or 1d, got {text[:80]!a}")
    return float(seconds)


def parse_start_time(text: str, option: str, now: datetime | None = None) -> float:
    """Parse 22:00 (the next one), 2026-11-18, "2026-11-18 22:00" or a duration from now such as 2h into a Unix time."""
    now = now or datetime.now()
    if DURATION.fullmatch(text.strip()):
        return now.timestamp() + parse_duration(text, option)
    if re.fullmatch(r"\d{1,2}:\d\d", text.strip(), re.ASCII):
        hour, minute = map(int, text.strip().split(":"))
        if hour < 24 and minute < 60:
            today = now.replace(hour=hour, minute=minute, second=0, microsecond=0)
            return (today if today > now else today + timedelta(days=1)).timestamp()
    try:
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError, OSError):
        raise InputError(
            f'{option}: expected a time such as 22:00, "2026-11-18 22:00" or 2h from now, got {text[:80]!a}'
        ) from None


def make_config(file: Path | None, chosen: Mapping[str, Any], cores: int | None = None) -> RunConfig:
    """Return the settings of a run: those of a file, and those of the command line, which win."""
    settings = read_toml(file) if file else {}
    if file:
        resolve(settings, source=str(file))  # so that an error in the file names the file
    return resolve(merge_settings(settings, chosen), source="command line", cores=cores)


def merge_pairs(settings: dict[str, Any], pairs: list[str] | None) -> dict[str, Any]:
    """Return the settings with pairs such as `stage1.epochs=3` merged in."""
    for pair in pairs or []:
        key, equals, text = pair.partition("=")
        if not equals or not key.strip():
            raise InputError(f'--set: expected KEY=VALUE, got "{pair}"')
        settings = merge_settings(settings, nest(key.strip(), parse_value(text)))
    return settings


def warn_of_cost(config: RunConfig, runs_dir: Path, data_dir: Path) -> None:
    """Print how long a run takes whose preset the user did not choose."""
    estimator, on_gpu = _make_estimator(runs_dir, data_dir, [config.device])
    estimate = estimator.estimate(config)
    length = f"{config.warmup_epochs + config.epochs} epochs"
    if estimate is not None:
        seconds = f"roughly {format_duration(estimate.seconds)}"
        length = f"{estimate.iterations} iterations, {seconds} on this {'GPU' if on_gpu else 'CPU'}"
    advice = "" if on_gpu else "; --preset quick takes minutes, --preset smoke seconds"
    warn(f"no preset was chosen: {config.preset} trains {length}{advice}")


def confirm_cost(configs: Sequence[RunConfig], runs_dir: Path, data_dir: Path) -> None:
    """Ask before more than an hour of training, or training of unknown length, is queued; without a terminal, warn."""
    estimator, _ = _make_estimator(runs_dir, data_dir, {config.device for config in configs})
    known = [estimate for estimate in estimator.estimate_all(configs) if estimate is not None]
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


def _make_estimator(runs_dir: Path, data_dir: Path, requests: Collection[str]) -> tuple[Estimator, bool]:
    """Return an estimator for the devices that runs request, and whether these are GPUs."""
    try:
        database = Database.open_read_only(runs_dir)
    except InputError:  # there are no runs yet
        database = None
    on_gpu = "cpu" not in requests and any(device.is_gpu for device in list_devices(seconds=0))
    return Estimator(database, data_dir, on_gpu=on_gpu), on_gpu
