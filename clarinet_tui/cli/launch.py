"""`clarinet run`, `sweep`, `stop`, `resume` and `clone`: start runs here or in a queue, end and continue them.

What they share: options, settings, durations, options of Slurm, and the cost.
"""

import os
import re
import shlex
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

import typer
from typer import Argument, Option

from clarinet_tui.analysis.run_estimate import Estimator
from clarinet_tui.cli.completion import method_names, preset_names, run_ids, task_names
from clarinet_tui.cli.lookup import find_run, find_runs, open_history, select_runs
from clarinet_tui.cli.options import (
    DATA,
    RUNS,
    DataDir,
    Ids,
    Json,
    Jsonl,
    On,
    Query,
    RunId,
    RunsDir,
    Settings,
    SlurmPairs,
)
from clarinet_tui.cli.output import print_json_rows, warn
from clarinet_tui.cli.tui import replace_process, tui
from clarinet_tui.devices.device import Device, match_devices, select_device, unavailable_reason, worker_options
from clarinet_tui.devices.local import list_devices
from clarinet_tui.history.database import Database
from clarinet_tui.history.sweeps import join_sweep
from clarinet_tui.place import LaunchOptions, PlaceName, SlurmOptions, StopResult
from clarinet_tui.queue import requests
from clarinet_tui.queue.sweep import Grid, expand_grid, nest, parse_grid, parse_seeds, parse_value, validate_name
from clarinet_tui.runs.annotations import add_tag, validate_tag
from clarinet_tui.runs.directory import RunDirectory, list_some, read_toml
from clarinet_tui.runs.worker_command import hook_environment, worker_arguments
from clarinet_tui.slurm.options import parse_pairs, parse_table
from clarinet_tui.text import format_count, format_duration, printable, shell_command
from clarinet_tui.worker.notifications import ON_END, parse_hook_command
from core.config import RunConfig, format_value, merge_settings
from core.errors import InputError
from core.resolve import minimal_settings, resolve
from core.tasks import OFFLINE_TASK

DURATION = re.compile(r"(\d+d)?(\d+h)?(\d+m)?(\d+s)?", re.ASCII)
LONG = 3600.0
"""Seconds of training that a sweep may take without a question."""
OutputForm = Literal["array", "lines"] | None
"""How events are printed: as one array, one a line, or as text."""


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
    tag: Annotated[list[str] | None, Option(metavar="NAME", help="Tag the new runs with NAME; repeatable.")] = None
    on: On = None
    slurm: SlurmPairs = None
    json: Json = False
    jsonl: Jsonl = False
    runs_dir: RunsDir = RUNS
    data_dir: DataDir = DATA

    def __post_init__(self) -> None:
        for name in self.tag or ():
            validate_tag(name)

    def tag_runs(self, runs: Sequence[RunDirectory]) -> None:
        for run in runs:
            for name in self.tag or ():
                add_tag(run, name)

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
            after=tuple(run.id for run in find_runs(self.runs_dir, self.after or [])),
            time_limit=0.0 if self.time_limit is None else parse_duration(self.time_limit, "--time-limit"),
            slurm=jobs,
            **options,
        )


def run(
    file: Annotated[Path | None, Argument(metavar="FILE", help="TOML file of settings.")] = None,
    method: Annotated[str | None, Option(help="clarinet, gac+cdan-e, …", autocompletion=method_names)] = None,
    task: Annotated[
        str | None, Option(help='"M->U", or "path/to/source->path/to/target".', autocompletion=task_names)
    ] = None,
    seed: Annotated[int | None, Option(help="Seed of every random stream.")] = None,
    device: Annotated[str | None, Option(help="auto, cpu, cuda:0 or a GPU's UUID.")] = None,
    headless: Annotated[bool, Option("--headless", help="Train in this terminal or batch job.")] = False,
    resume: Annotated[str | None, Option(metavar="ID", help="Resume this run.", autocompletion=run_ids)] = None,
    run_id: Annotated[
        str | None, Option(metavar="ID", help="Id of the new run; an existing run with it is resumed.")
    ] = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Print the batch script of --on slurm; start nothing.")] = False,
    *,
    launch: Launch,
) -> None:
    """Train one run, from the queue or in this terminal.

    Without --headless the run is queued and the app shows it; closing the app does not stop it. With --headless the
    exit code is 0 (finished), 1 (failed), 2 (invalid input), 130 or 143 (stopped by a signal, can be resumed).

    Example: clarinet run --headless --method clarinet --task "M->U" --preset quick --seed 1
    """
    chosen = launch.choose(method=method, task=task, seed=seed, device=device)
    jobs = slurm_options(None if headless and "CLARINET_ON" in os.environ else launch.on, launch.slurm)
    options = launch.make_options(jobs)
    place = requests.place_named(launch.runs_dir, options.on)
    if headless and not place.is_here:
        raise InputError(f"run: --headless trains in this terminal, and --on {place.name} elsewhere: use one of them")
    if dry_run and place.is_here:
        raise InputError("run: --dry-run prints a batch script: it needs --on slurm")
    if not headless and place.is_here and not sys.stdout.isatty():
        raise InputError("run: the app needs a terminal; use --headless")
    if headless and (launch.not_before or launch.after):
        raise InputError("run: --not-before and --after are for queued runs: leave out --headless")
    form: OutputForm = "lines" if launch.jsonl else "array" if launch.json else None
    if existing := _find_existing(launch.runs_dir, resume, run_id, file, chosen):
        launch.tag_runs([existing])
        continue_run(existing, options, headless, form)
    cores = None if headless else place.cores(str(chosen.get("device", "auto")), options)
    config = make_config(file, chosen, cores)
    if dry_run:
        print(*place.preview([config], options), end="")
        return
    if file is None and "preset" not in chosen and place.is_here:
        if headless:
            warn_of_cost(config, launch.runs_dir, launch.data_dir)
        else:
            confirm_cost([config], launch.runs_dir, launch.data_dir)
    if headless:
        devices = choose_devices(config.device)
        new = RunDirectory.create(launch.runs_dir, config, id=run_id)
        launch.tag_runs([new])
        exec_worker(new, options, form, devices)
    (new,) = place.submit([config], options, run_id=run_id)
    launch.tag_runs([new])
    show_run(new, options)


def _find_existing(
    runs_dir: Path, resume: str | None, run_id: str | None, file: Path | None, chosen: dict[str, Any]
) -> RunDirectory | None:
    """Return the run to resume; a run with `run_id` exists when a batch job was requeued."""
    if resume:
        if file or chosen or run_id:
            raise InputError("--resume: uses the settings of the run; give no others")
        return find_run(runs_dir, resume)
    run = RunDirectory(runs_dir, run_id) if run_id else None
    if run is None or not run.config.exists():
        return None
    # The number of threads follows the machine, which may differ from that of the first attempt.
    if (file or chosen) and run.read_config() != make_config(file, chosen, run.read_config().threads):
        raise InputError(f"--run-id: run {run.id} exists with other settings")
    return run


def continue_run(run: RunDirectory, options: LaunchOptions, headless: bool, form: OutputForm) -> NoReturn:
    """Resume an existing run, in this process or from the queue."""
    if headless:
        exec_worker(run, options, form, choose_devices(run.read_config().device))
    requests.resume([run], options)
    show_run(run, options)


def show_run(run: RunDirectory, options: LaunchOptions) -> NoReturn:
    """Open the app with the run; without a terminal, print where the run is."""
    place = requests.place_named(run.runs_dir, options.on)
    if place.is_here or sys.stdout.isatty():
        tui([run.id], runs_dir=run.runs_dir, data_dir=Path(options.data_dir))
    watch = shell_command("clarinet", "queue", runs_dir=run.runs_dir)
    print(f"{run.id} queued on {place.title}. Watch it with: {watch}")
    raise typer.Exit


def choose_devices(request: str) -> list[Device]:
    """Return the devices for a run of this terminal or batch job, best first; none leaves the choice to torch."""
    devices = list_devices(seconds=0)
    if request == "auto" and devices[-1].problem:
        raise InputError(f"device: {devices[-1].problem}; use --device cpu to train on the CPU")
    if request == "cpu" or (request == "auto" and len(devices) == 1):
        return []
    matches = match_devices(request, devices)
    reasons = {device.key: unavailable_reason(device) for device in matches}
    free = [device for device in matches if reasons[device.key] is None]
    if not free and request == "auto":
        texts = "; ".join(reason for reason in reasons.values() if reason)
        raise InputError(f"device: none is free ({texts}); wait, or use --device {matches[0].label}")
    return free or matches[:1]  # named by the user, so used although it is busy


def exec_worker(run: RunDirectory, options: LaunchOptions, form: OutputForm, devices: list[Device]) -> NoReturn:
    """Replace this process with the worker of a run, which keeps its pid and so its signals and exit code."""
    fresh = not run.journal.exists()
    arguments = worker_arguments(run, Path(options.data_dir), json=form, fresh=fresh, time_limit=options.time_limit)
    environment = {**os.environ, **hook_environment(options.on_alarm, options.on_end)}
    if devices:
        environment |= select_device(devices[0].key)
        arguments += worker_options(devices, share=run.read_config().device != "auto")
    replace_process(arguments, environment)


def sweep(
    file: Annotated[
        Path | None, Argument(metavar="FILE", help="TOML file: name, methods, tasks, seeds, [grid], settings.")
    ] = None,
    name: Annotated[str | None, Option(help="Name of the sweep; an existing one is extended.")] = None,
    methods: Annotated[str | None, Option(help="clarinet,gac+cdan-e", autocompletion=method_names)] = None,
    tasks: Annotated[str | None, Option(help='"M->U,U->M"', autocompletion=task_names)] = None,
    seeds: Annotated[str | None, Option(help="1..5 or 1,2,7")] = None,
    grid: Annotated[list[str] | None, Option(metavar="KEY=A,B", help="Values of another setting; repeatable.")] = None,
    device: Annotated[str | None, Option(help="auto, cpu, cuda:0,2 or UUIDs of GPUs.")] = None,
    priority: Annotated[int, Option(help="Runs with a higher priority start first.")] = 0,
    retries: Annotated[int, Option(min=0, help="Retry lost or failed runs up to this many times.")] = 0,
    share: Annotated[bool, Option("--share", help="Also start on devices that other processes use.")] = False,
    paused: Annotated[bool, Option("--paused", help="Queue the runs without starting them.")] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Print the commands or batch scripts; start nothing.")] = False,
    yes: Annotated[bool, Option("--yes", "-y", help="Do not ask before more than an hour of training.")] = False,
    *,
    launch: Launch,
) -> None:
    """Queue all combinations of methods, tasks, seeds and settings.

    Options on the command line override the file. Queries find the runs of a sweep with sweep:NAME. A sweep with the
    name of another extends it: it queues only the runs that the sweep does not have yet.

    Example: clarinet sweep --methods clarinet,gac+cdan-e --tasks "M->U" --seeds 1..5 --preset quick
    """
    chosen = (file, methods, tasks, seeds, grid, launch.set_, launch.preset, launch.epochs, yes, dry_run)
    if not any(chosen):
        raise InputError("sweep: expected a FILE, or what to train, such as --methods, --tasks, --seeds or --preset")
    content, source = (read_toml(file), str(file)) if file else ({}, "command line")
    jobs = slurm_options(launch.on, launch.slurm, content, source)
    runs = parse_grid(content, source)
    axes = dict(runs.axes)
    for text in grid or []:
        key, equals, values = text.partition("=")
        if not equals or not key.strip() or not values.strip():
            raise InputError(f"--grid: expected KEY=A,B, got {text!a}")
        axes[key.strip()] = [parse_value(value) for value in _split(values)]
    runs = replace(
        runs,
        methods=_split(methods) if methods else runs.methods,
        tasks=_split(tasks) if tasks else runs.tasks or [OFFLINE_TASK],
        seeds=parse_seeds(seeds) if seeds else runs.seeds,
        settings=merge_settings(runs.settings, launch.choose(device=device)),
        axes=axes,
    )
    named = validate_name(name, "--name") if name is not None else runs.name or str(runs.settings.get("sweep", ""))
    runs = replace(runs, name=named)
    options = launch.make_options(jobs, priority=priority, retries=retries, share_device=share, paused=paused)
    place = requests.place_named(launch.runs_dir, options.on)
    configs = expand_grid(runs, place.cores(str(runs.settings.get("device", "auto")), options))
    if dry_run:
        if named:
            configs, title = _join_sweep(runs, configs, launch.runs_dir)
            print(title, file=sys.stderr)
        tags = "".join(f" --tag {shlex.quote(tag)}" for tag in launch.tag or ()) if place.is_here else ""
        texts = [f"{text}{tags}" for text in place.preview(configs, options)] if configs else []
        _print_queued(texts, "\n".join(texts).rstrip("\n") + "\n" if texts else "", launch)
        return
    configs, title = _join_sweep(runs, configs, launch.runs_dir)
    if place.is_here and not yes and not paused:
        confirm_cost(configs, launch.runs_dir, launch.data_dir)
    submitted = place.submit(configs, options) if configs else []
    launch.tag_runs(submitted)
    ids = [run.id for run in submitted]
    if not ids:
        _print_queued([], f"{title}: none is queued\n", launch)
        return
    queued = f"{format_count(len(ids), 'run')} queued: {list_some(ids)}"
    watch = (shell_command(*words, runs_dir=launch.runs_dir) for words in (("clarinet-tui",), ("clarinet", "queue")))
    _print_queued(
        ids, f"{title}\n{queued}. Watch {'it' if len(ids) == 1 else 'them'} with: {' or '.join(watch)}\n", launch
    )


def _join_sweep(grid: Grid, configs: list[RunConfig], runs_dir: Path) -> tuple[list[RunConfig], str]:
    """Return the runs that the sweep of this name lacks, or all with a new name, and a title for the user."""
    with open_history(runs_dir) as database:
        name, joined = join_sweep(database, grid, configs)
    existing = len(configs) - len(joined)
    of_all = f"{existing} of these {len(configs)} runs" if len(configs) > 1 else "this run"
    return joined, f"Sweep {printable(name)}{f' has {of_all} already' if existing else ''}"


def _print_queued(values: list[str], text: str, launch: Launch) -> None:
    if launch.json or launch.jsonl:
        print_json_rows(values, lines=launch.jsonl)
    else:
        print(text, end="")


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def stop(
    ids: Ids = None,
    query: Query = None,
    grace: Annotated[float, Option(min=0, help="Seconds to save a checkpoint before the run is killed.")] = 60.0,
    wait: Annotated[bool, Option(help="Wait until the runs have stopped.")] = True,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Stop runs after saving a checkpoint.

    A waiting run is removed from the queue. `clarinet resume` continues a stopped run.

    Example: clarinet stop 6e3

    Example: clarinet stop "sweep:first state:running"
    """
    runs = select_runs(runs_dir, ids, query)
    requests.check_active(runs)
    stopping = []
    for run in runs:
        if requests.stop(run, grace) is StopResult.REQUESTED:
            print(f"{run.id} was asked to stop")
            stopping.append(run)
        else:
            print(f"{run.id} removed from the queue")
    for run in stopping if wait else ():
        saved = requests.wait_until_stopped(run, grace)
        resume = shell_command("clarinet", "resume", run.id, runs_dir=runs_dir)
        print(f"{run.id} {'stopped' if saved else f'killed; continue from its last checkpoint with: {resume}'}")


def resume(
    ids: Ids = None,
    query: Query = None,
    device: Annotated[str | None, Option(help="Resume on another device.")] = None,
    retries: Annotated[int, Option(min=0, help="Retry lost or failed runs up to this many times.")] = 0,
    on: On = None,
    slurm: SlurmPairs = None,
    runs_dir: RunsDir = RUNS,
    data_dir: DataDir = DATA,
) -> None:
    """Queue stopped, failed, lost or cancelled runs again.

    Each continues from its last checkpoint, and where it was: on this machine, or on Slurm with its earlier options.

    Example: clarinet resume 6e3
    """
    runs = select_runs(runs_dir, ids, query)
    options = LaunchOptions.from_paths(data_dir, retries=retries, slurm=slurm_options(on, slurm))
    requests.resume(runs, options, device=device, same_place=on is None)
    for run in runs:
        print(f"{run.id} queued")


def clone(
    id: RunId,  # noqa: A002
    seed: Annotated[int | None, Option(help="Seed of the new run.")] = None,
    set_: Settings = None,
    runs_dir: RunsDir = RUNS,
    data_dir: DataDir = DATA,
) -> None:
    """Queue a new run with the settings of another.

    --seed and --set change settings of the new run.

    Example: clarinet clone 6e3 --seed 2 --set epochs=5
    """
    settings = minimal_settings(find_run(runs_dir, id).read_config())
    settings.pop("sweep", None)  # the sweep has this run, and --name extends it
    if seed is not None:
        settings["seed"] = seed
    settings = merge_pairs(settings, set_)
    options = LaunchOptions.from_paths(data_dir)
    place = requests.place_named(runs_dir, options.on)
    cores = place.cores(str(settings.get("device", "auto")), options)
    (run,) = place.submit([resolve(settings, source="command line", cores=cores)], options)
    print(f"{run.id} queued")


def slurm_options(
    on: PlaceName | None, pairs: list[str] | None, file: dict[str, Any] | None = None, source: str = ""
) -> SlurmOptions | None:
    """Return the options of Slurm jobs, of which the command line overrides the file; None for this machine.

    `on` and `slurm` are taken out of the file.
    """
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


def _make_estimator(runs_dir: Path, data_dir: Path, requested: Collection[str]) -> tuple[Estimator, bool]:
    """Return an estimator for the requested devices, and whether these are GPUs."""
    try:
        database = Database.open_read_only(runs_dir)
    except InputError:  # there are no runs yet
        database = None
    on_gpu = "cpu" not in requested and any(device.is_gpu for device in list_devices(seconds=0))
    return Estimator(database, data_dir, on_gpu=on_gpu), on_gpu
