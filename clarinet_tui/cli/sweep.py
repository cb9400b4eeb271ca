"""`clarinet sweep`: queue a grid of runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from clarinet_tui.cli.completion import method_names, task_names
from clarinet_tui.cli.cost import confirm_sweep
from clarinet_tui.cli.options import (
    DATA,
    RUNS,
    After,
    DataDir,
    Epochs,
    Json,
    Jsonl,
    NotBefore,
    On,
    OnAlarm,
    OnEnd,
    Preset,
    RunsDir,
    Settings,
    SlurmPairs,
    TimeLimit,
    alarm_command,
    refuse_on_slurm,
    slurm_options,
    start_options,
)
from clarinet_tui.cli.output import print_json_rows
from clarinet_tui.cli.settings import merge_pairs
from clarinet_tui.text import shell_command
from core.errors import InputError

if TYPE_CHECKING:
    from clarinet_tui.queue.sweep import Grid


def sweep(
    file: Annotated[
        Path | None, Argument(metavar="FILE", help="TOML file: methods, tasks, seeds, [grid], settings.")
    ] = None,
    methods: Annotated[str | None, Option(help="clarinet,gac+cdan-e", autocompletion=method_names)] = None,
    tasks: Annotated[str | None, Option(help='"M->U,U->M"', autocompletion=task_names)] = None,
    seeds: Annotated[str | None, Option(help="1..5 or 1,2,7")] = None,
    grid: Annotated[list[str] | None, Option(metavar="KEY=A,B", help="Values of another setting; repeatable.")] = None,
    preset: Preset = None,
    epochs: Epochs = None,
    device: Annotated[str | None, Option(help="auto, cpu, cuda:0,2 or UUIDs of GPUs.")] = None,
    set_: Settings = None,
    priority: Annotated[int, Option(help="Runs with a higher priority start first.")] = 0,
    retries: Annotated[int, Option(min=0, help="Retry lost or failed runs up to this many times.")] = 0,
    share: Annotated[bool, Option("--share", help="Also start on devices that other processes use.")] = False,
    paused: Annotated[bool, Option("--paused", help="Queue the runs without starting them.")] = False,
    on_alarm: OnAlarm = None,
    on_end: OnEnd = None,
    not_before: NotBefore = None,
    after: After = None,
    time_limit: TimeLimit = None,
    on: On = None,
    slurm: SlurmPairs = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Print the commands or batch scripts; start nothing.")] = False,
    yes: Annotated[bool, Option("--yes", "-y", help="Do not ask before more than an hour of training.")] = False,
    json: Json = False,
    jsonl: Jsonl = False,
    runs_dir: RunsDir = RUNS,
    data_dir: DataDir = DATA,
) -> None:
    """Queue all combinations of methods, tasks, seeds and settings.

    Options on the command line override the file.

    Example: clarinet sweep --methods clarinet,gac+cdan-e --tasks "M->U" --seeds 1..5 --preset quick
    """
    from clarinet_tui.queue.requests import LaunchOptions, cores_per_slot, slurm_settings, submit
    from clarinet_tui.queue.sweep import expand_grid, run_command
    from clarinet_tui.runs.directory import read_toml
    from clarinet_tui.slurm.submission import preview

    flags = {"preset": preset, "epochs": epochs, "device": device}
    settings = {name: value for name, value in flags.items() if value is not None}
    content, place = (read_toml(file), str(file)) if file else ({}, "command line")
    jobs = slurm_options(on, slurm, content, place)
    sweep_grid = _read_grid(content, place, methods, tasks, seeds, grid or [], settings, set_ or [])
    device = str(sweep_grid.settings.get("device", "auto"))
    configs = expand_grid(sweep_grid, jobs.cores if jobs else cores_per_slot(runs_dir, device))
    hook = alarm_command(on_alarm)
    start = start_options(runs_dir, on_end, not_before, after, time_limit)
    if jobs:
        refuse_on_slurm(start)
    options = LaunchOptions(data_dir, Path.cwd(), priority, retries, share, paused, hook, slurm=jobs, **start)
    if dry_run and jobs:
        scripts = preview(slurm_settings(runs_dir, options), configs)
        _output(scripts, "\n".join(scripts), json, jsonl)
        return
    if dry_run:
        commands = [run_command(point, on_alarm, runs_dir) for point in sweep_grid.points()]
        _output(commands, "\n".join(commands) + "\n", json, jsonl)
        return
    if not (file or methods or tasks or seeds or grid or set_ or preset or epochs or yes):
        raise InputError("sweep: expected a FILE, or what to train, such as --methods, --tasks, --seeds or --preset")
    if not yes and not paused and not jobs:
        confirm_sweep(configs, runs_dir, data_dir)
    ids = [run.id for run in submit(runs_dir, configs, options)]
    queued = f"1 run queued: {ids[0]}" if len(ids) == 1 else f"{len(ids)} runs queued: {ids[0]} to {ids[-1]}"
    watch = (shell_command(*words, runs_dir=runs_dir) for words in (("clarinet-tui",), ("clarinet", "queue")))
    _output(ids, f"{queued}. Watch {'it' if len(ids) == 1 else 'them'} with: {' or '.join(watch)}\n", json, jsonl)


def _output(values: list[str], text: str, json: bool, jsonl: bool) -> None:
    if json or jsonl:
        print_json_rows(values, lines=jsonl)
    else:
        print(text, end="")


def _read_grid(
    content: dict[str, Any],
    place: str,
    methods: str | None,
    tasks: str | None,
    seeds: str | None,
    axes: list[str],
    flags: dict[str, Any],
    pairs: list[str],
) -> "Grid":
    """Return the grid of the file, overridden by the command line."""
    from dataclasses import replace

    from clarinet_tui.queue.sweep import parse_grid, parse_seeds
    from core.tasks import OFFLINE_TASK
    from core.validation import merge_settings

    grid = parse_grid(content, place)
    changes: dict[str, Any] = {"settings": merge_pairs(merge_settings(grid.settings, flags), pairs)}
    if methods:
        changes["methods"] = _split(methods)
    if tasks or not grid.tasks:
        changes["tasks"] = _split(tasks) if tasks else [OFFLINE_TASK]
    if seeds:
        changes["seeds"] = parse_seeds(seeds)
    changes["axes"] = {**grid.axes, **dict(_parse_axis(axis) for axis in axes)}
    return replace(grid, **changes)


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _parse_axis(text: str) -> tuple[str, list[Any]]:
    """Parse `stage1.epochs=3,5` into a name and its values."""
    from clarinet_tui.queue.sweep import parse_value

    name, equals, values = text.partition("=")
    if not equals or not name.strip() or not values.strip():
        raise InputError(f"--grid: expected KEY=A,B, got {text!a}")
    return name.strip(), [parse_value(value) for value in _split(values)]
