"""The options that `clarinet run` and `clarinet sweep` share: settings, when and where runs start, hooks, output."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from clarinet_tui.cli.completion import preset_names, run_ids
from clarinet_tui.cli.options import DATA, RUNS, DataDir, Json, Jsonl, On, RunsDir, Settings, SlurmPairs
from clarinet_tui.place import LaunchOptions, SlurmOptions
from clarinet_tui.queue.sweep import nest, parse_value
from clarinet_tui.runs.directory import find_run, read_toml
from clarinet_tui.worker.notifications import ON_END, parse_hook_command
from core.config import RunConfig, merge_settings
from core.errors import InputError
from core.resolve import resolve

Preset = Annotated[str | None, Option(help="paper, literal, quick, smoke or photographs.", autocompletion=preset_names)]
Epochs = Annotated[int | None, Option(help="Adaptation epochs.")]
OnAlarm = Annotated[
    str | None,
    Option("--on-alarm", metavar="COMMAND", help="Run COMMAND on each alarm, without a shell; see CLARINET_ALARM."),
]
OnEnd = Annotated[
    str | None,
    Option("--on-end", metavar="COMMAND", help="Run COMMAND at the end, without a shell; see CLARINET_STATE."),
]
NotBefore = Annotated[
    str | None, Option(metavar="TIME", help='Start at 22:00, "2026-11-18 22:00" or in 2h at the earliest.')
]
After = Annotated[
    list[str] | None,
    Option(metavar="ID", help="Start when this run has finished; repeatable.", autocompletion=run_ids),
]
TimeLimit = Annotated[str | None, Option(metavar="TIME", help="Save and stop after 90m, 2h30m or 1d of an attempt.")]


UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
DURATION = re.compile(r"(\d+d)?(\d+h)?(\d+m)?(\d+s)?", re.ASCII)
MAX_SECONDS = 366 * 86400


@dataclass(frozen=True)
class Launch:
    """What a user chose for the start of runs; each field is an option."""

    preset: Preset = None
    epochs: Epochs = None
    set_: Settings = None
    on_alarm: OnAlarm = None
    on_end: OnEnd = None
    not_before: NotBefore = None
    after: After = None
    time_limit: TimeLimit = None
    on: On = None
    slurm: SlurmPairs = None
    json: Json = False
    jsonl: Jsonl = False
    runs_dir: RunsDir = RUNS
    data_dir: DataDir = DATA

    def choose(self, **settings: Any) -> dict[str, Any]:
        """Return the settings that were chosen, with preset and epochs."""
        every = {**settings, "preset": self.preset, "epochs": self.epochs}
        return {name: value for name, value in every.items() if value is not None}

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


def parse_duration(text: str, option: str) -> float:
    """Parse 90m, 2h30m or 1d into seconds."""
    match = DURATION.fullmatch(text.strip())
    seconds = (
        sum(int(part[:-1]) * UNITS[part[-1]] for part in match.groups() if part) if match and len(text) < 40 else 0
    )
    if not 0 < seconds <= MAX_SECONDS:
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


@dataclass(frozen=True)
class ChosenSettings:
    """A settings file, flags and --set pairs, the last of which win."""

    file: Path | None
    flags: dict[str, Any]
    pairs: list[str]

    def __bool__(self) -> bool:
        return bool(self.file or self.flags or self.pairs)

    @property
    def has_preset(self) -> bool:
        """Whether the user has chosen a preset, or settings of their own in a file."""
        named = "preset" in self.flags or any(pair.startswith("preset=") for pair in self.pairs)
        return named or self.file is not None

    def make_config(self, cores: int | None = None) -> RunConfig:
        settings = read_toml(self.file) if self.file else {}
        if self.file:
            resolve(settings, source=str(self.file))  # so that an error in the file names the file
        return resolve(
            merge_pairs(merge_settings(settings, self.flags), self.pairs), source="command line", cores=cores
        )


def merge_pairs(settings: dict[str, Any], pairs: list[str] | None) -> dict[str, Any]:
    """Return the settings with KEY=VALUE pairs merged in."""
    for pair in pairs or []:
        settings = merge_settings(settings, parse_pair(pair))
    return settings


def parse_pair(pair: str) -> dict[str, Any]:
    """Parse `stage1.epochs=3` into a nested table."""
    key, equals, text = pair.partition("=")
    if not equals or not key.strip():
        raise InputError(f'--set: expected KEY=VALUE, got "{pair}"')
    return nest(key.strip(), parse_value(text))
