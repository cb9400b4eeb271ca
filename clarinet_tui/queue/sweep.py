"""Sweeps: a grid of methods, tasks, seeds and other settings, as configurations and as command lines."""

import itertools
import json
import math
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomli

from clarinet_tui.place import SlurmOptions
from clarinet_tui.runs.annotations import read_creating_command
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.slurm.options import format_pairs
from clarinet_tui.text import format_task, shell_command
from core.config import RunConfig, flatten_settings, format_value, merge_settings, nest_settings
from core.errors import InputError
from core.resolve import minimal_settings, resolve

MAX_RUNS = 10_000
MAX_NAME = 100
MAX_MADE_NAME = 60
FLAGS = ("method", "task", "seed", "preset", "epochs", "device")
"""Settings that have their own command line flag."""


@dataclass(frozen=True)
class Grid:
    """Seeds vary slowest: every method has its first seed before any has its second."""

    methods: Sequence[str]
    tasks: Sequence[str]
    seeds: Sequence[int]
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of every run."""
    axes: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Other settings with their values."""
    source: str = "sweep"
    """Where the grid comes from, for error messages."""
    name: str = ""
    """The name of the sweep, the setting `sweep` of its runs; empty for runs of no sweep."""

    def __len__(self) -> int:
        return math.prod(map(len, (self.methods, self.tasks, self.seeds, *self.axes.values())))

    def points(self) -> Iterator[dict[str, Any]]:
        """Yield the settings of each run."""
        for seed, task, *values, method in itertools.product(self.seeds, self.tasks, *self.axes.values(), self.methods):
            point = dict(self.settings) | {"method": method, "task": task, "seed": seed}
            point |= {"sweep": self.name} if self.name else {}
            for name, value in zip(self.axes, values, strict=True):
                point = merge_settings(point, nest(name, value))
            yield point


def expand_grid(grid: Grid, cores: int | None = None) -> list[RunConfig]:
    """Return the configuration of every run; all are checked before any run is created."""
    for name, axis in (("methods", grid.methods), ("tasks", grid.tasks), ("seeds", grid.seeds), *grid.axes.items()):
        if not axis:
            raise InputError(f"{grid.source}: {name}: expected at least one")
        if len(set(map(repr, axis))) < len(axis):
            raise InputError(f"{grid.source}: {name}: expected each value once")
    if len(grid) > MAX_RUNS:
        raise InputError(f"{grid.source}: expected at most {MAX_RUNS} runs, got {len(grid)}: split the sweep")
    return [resolve(point, source=grid.source, cores=cores) for point in grid.points()]


def make_name(grid: Grid) -> str:
    """Return a name from what the sweep varies, which needs no quotes: basset-classifier_rate, methods-tasks."""
    axes = {"methods": grid.methods, "tasks": grid.tasks, **grid.axes}
    varied = [name for name, values in axes.items() if len(values) > 1]
    words = [*(grid.methods[:1] if len(grid.methods) == 1 else []), *varied]
    words += [format_task(grid.tasks[0])] if set(varied) <= {"methods"} else []
    return re.sub(r"[^\w.+-]+", "-", "-".join(words))[:MAX_MADE_NAME]


def validate_name(name: Any, source: str) -> str:
    """Return the name of a sweep without surrounding spaces."""
    if not isinstance(name, str) or not name.isprintable() or not 0 < len(name.strip()) <= MAX_NAME:
        raise InputError(f"{source}: expected 1 to {MAX_NAME} printable characters, got {format_value(name)}")
    return name.strip()


def parse_seeds(text: str, source: str = "--seeds") -> list[int]:
    """Parse `1..5`, `1,2,7` or a combination."""
    seeds: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,10})(?:\.\.(\d{1,10}))?\s*", part, re.ASCII)
        if not match or (match[2] and int(match[2]) < int(match[1])):
            raise InputError(f"{source}: expected seeds such as 1..5 or 1,2,7, got {format_value(text)}")
        first, last = int(match[1]), int(match[2] or match[1])
        if last - first > MAX_RUNS:
            raise InputError(f"{source}: {format_value(text)} has more than {MAX_RUNS} seeds")
        seeds.extend(range(first, last + 1))
    return seeds


def parse_grid(settings: Mapping[str, Any], source: str) -> Grid:
    """Parse a sweep's TOML file: name, methods, tasks, seeds, a table `[grid]` of lists, and settings of every run."""
    rest = dict(settings)
    methods, tasks = _pop_strings(rest, "methods", ["clarinet"], source), _pop_strings(rest, "tasks", [], source)
    seeds = rest.pop("seeds", [1])
    if isinstance(seeds, str):
        seeds = parse_seeds(seeds, f"{source}: seeds")
    if not isinstance(seeds, list) or not all(type(seed) is int for seed in seeds):
        raise InputError(
            f'{source}: seeds: expected a list of integers, or a string such as "1..5", got {format_value(seeds)}'
        )
    axes = rest.pop("grid", {})
    if not isinstance(axes, dict):
        raise InputError(f"{source}: grid: expected a table of lists, got {format_value(axes)}")
    axes = flatten_settings(axes)
    for name, values in axes.items():
        if not isinstance(values, list):
            raise InputError(f"{source}: grid.{name}: expected a list, got {format_value(values)}")
    for name in ("method", "task", "seed"):
        if name in rest:
            raise InputError(f"{source}: {name}: expected {name}s, a list")
    name = validate_name(rest.pop("name"), f"{source}: name") if "name" in rest else ""
    return Grid(methods, tasks, seeds, rest, axes, source, name)


def _pop_strings(rest: dict[str, Any], name: str, default: list[str], source: str) -> list[str]:
    values = rest.pop(name, default)
    values = [values] if isinstance(values, str) else values
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise InputError(f"{source}: {name}: expected a list of strings, got {format_value(values)}")
    return values


def nest(name: str, value: Any) -> dict[str, Any]:
    """Return `stage1.epochs` as a table in a table."""
    return nest_settings({name: value})


def run_command(
    settings: Mapping[str, Any], *options: str, headless: bool = True, runs_dir: Path | str | None = None
) -> str:
    """Return the command that trains one run, without the queue unless `headless` is false."""
    words = ["clarinet", "run", *(["--headless"] if headless else []), *_format_flags(settings), *options]
    return shell_command(*words, runs_dir=runs_dir)


def describe_command(run: RunDirectory) -> str | None:
    """Return what the user typed; if that is not recorded, a command that trains the same run."""
    if typed := read_creating_command(run):
        return typed
    try:
        return run_command(minimal_settings(run.read_config()), runs_dir=run.runs_dir)
    except InputError:
        return None  # the settings cannot be read, or the method is not installed


def sweep_command(grid: Grid, slurm: SlurmOptions | None = None, tags: Sequence[str] = ()) -> str:
    """Return the command that queues the whole grid with these tags, here or with these options of Slurm."""
    command = ["clarinet", "sweep", *(("--name", grid.name) if grid.name else ())]
    command += ["--methods", ",".join(grid.methods), "--tasks", ",".join(grid.tasks)]
    command += ["--seeds", format_seeds(grid.seeds), *_format_flags(grid.settings)]
    for name, values in grid.axes.items():
        command += ["--grid", f"{name}={','.join(map(_format_toml, values))}"]
    if slurm is not None:
        command += ["--on", "slurm", *(word for pair in format_pairs(slurm) for word in ("--slurm", pair))]
    command += [word for tag in tags for word in ("--tag", tag)]
    return shlex.join(command)


def format_seeds(seeds: Sequence[int]) -> str:
    """Return seeds as `parse_seeds` reads them: 1..5 or 1,2,7."""
    if len(seeds) > 1 and list(seeds) == list(range(seeds[0], seeds[-1] + 1)):
        return f"{seeds[0]}..{seeds[-1]}"
    return ",".join(map(str, seeds))


def _format_flags(settings: Mapping[str, Any]) -> Iterator[str]:
    flat = flatten_settings(settings)
    for name in FLAGS:
        if name in flat:
            yield from (f"--{name}", str(flat.pop(name)))
    for name, value in flat.items():
        yield from ("--set", f"{name}={_format_toml(value)}")


def _format_toml(value: Any) -> str:
    """Format a value so that the command line parses it back to the same type; a string may look like a number."""
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        return str(value)
    return json.dumps(value) if parse_value(value) != value else value


def parse_value(text: str) -> Any:
    """Parse a value as TOML; text that is not TOML is a string."""
    try:
        return tomli.loads(f"value = {text}")["value"]
    except tomli.TOMLDecodeError:
        return text
