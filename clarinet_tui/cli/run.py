"""`clarinet run`: train one run in this process, or queue it and open the app."""

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn

from typer import Argument, Exit, Option

from clarinet_tui.cli.completion import method_names, run_ids, task_names
from clarinet_tui.cli.cost import confirm_cost, warn_of_cost
from clarinet_tui.cli.launch import ChosenSettings, Launch
from clarinet_tui.cli.options import slurm_options
from clarinet_tui.cli.tui import open_app, replace_process
from clarinet_tui.text import shell_command
from core.errors import InputError

if TYPE_CHECKING:
    from clarinet_tui.devices.device import Device
    from clarinet_tui.queue.requests import LaunchOptions
    from clarinet_tui.runs.directory import RunDirectory
    from clarinet_tui.slurm.options import SlurmOptions
    from core.config import RunConfig

OutputForm = Literal["json", "jsonl"] | None
"""How events are printed: as one array, one a line, or as text."""


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
    chosen = ChosenSettings(file, launch.choose(method=method, task=task, seed=seed, device=device), launch.set_ or [])
    jobs = slurm_options(None if headless and "CLARINET_ON" in os.environ else launch.on, launch.slurm)
    _check_place(launch, jobs, headless=headless, dry_run=dry_run)
    options = launch.make_options(jobs)
    form: OutputForm = "jsonl" if launch.jsonl else "json" if launch.json else None
    if existing := _find_existing(launch.runs_dir, resume, run_id, chosen):
        continue_run(existing, options, headless, form)
    config = _make_config(chosen, launch, jobs, headless=headless)
    if dry_run:
        _print_script(launch.runs_dir, config, options)
    else:
        start_run(launch.runs_dir, config, run_id, options, headless, form)


def _check_place(launch: Launch, jobs: "SlurmOptions | None", *, headless: bool, dry_run: bool) -> None:
    """Raise InputError for options that exclude each other, or that need a terminal."""
    if jobs and headless:
        raise InputError("run: --headless trains in this terminal, and --on slurm elsewhere: use one of them")
    if dry_run and not jobs:
        raise InputError("run: --dry-run prints a batch script: it needs --on slurm")
    if not headless and not jobs and not sys.stdout.isatty():
        raise InputError("run: the app needs a terminal; use --headless")
    if headless and (launch.not_before or launch.after):
        raise InputError("run: --not-before and --after are for queued runs: leave out --headless")


def _find_existing(
    runs_dir: Path, resume: str | None, run_id: str | None, chosen: ChosenSettings
) -> "RunDirectory | None":
    """Return the run to resume; a run with `run_id` exists when a batch job was requeued."""
    from clarinet_tui.runs.directory import RunDirectory, find_run

    if resume:
        if chosen or run_id:
            raise InputError("--resume: uses the settings of the run; give no others")
        return find_run(runs_dir, resume)
    run = RunDirectory(runs_dir, run_id) if run_id else None
    if run is None or not run.config.exists():
        return None
    # The number of threads follows the machine, which may differ from that of the first attempt.
    if chosen and run.read_config() != chosen.make_config(run.read_config().threads):
        raise InputError(f"--run-id: run {run.id} exists with other settings")
    return run


def _make_config(chosen: ChosenSettings, launch: Launch, jobs: "SlurmOptions | None", *, headless: bool) -> "RunConfig":
    """Resolve the settings of a new run, and say what it costs if no preset was chosen."""
    from clarinet_tui.queue.requests import cores_per_slot

    device = chosen.flags.get("device", "auto")
    config = chosen.make_config(jobs.cores if jobs else None if headless else cores_per_slot(launch.runs_dir, device))
    if not chosen.has_preset and not jobs:
        if headless:
            warn_of_cost(config, launch.runs_dir, launch.data_dir)
        else:
            confirm_cost([config], launch.runs_dir, launch.data_dir)
    return config


def _print_script(runs_dir: Path, config: "RunConfig", options: "LaunchOptions") -> None:
    from clarinet_tui.queue.requests import slurm_settings
    from clarinet_tui.slurm.submission import preview

    print(*preview(slurm_settings(runs_dir, options), [config]), end="")


def start_run(
    runs_dir: Path, config: "RunConfig", run_id: str | None, options: "LaunchOptions", headless: bool, form: OutputForm
) -> NoReturn:
    """Start a new run, in this process or from the queue."""
    from clarinet_tui.queue.requests import check_devices_exist, enqueue
    from clarinet_tui.runs.directory import RunDirectory

    if headless:
        devices = choose_devices(config.device)
        exec_worker(RunDirectory.create(runs_dir, config, id=run_id), options, form, devices)
    if options.slurm is None:
        check_devices_exist([config.device])
    run = RunDirectory.create(runs_dir, config, id=run_id)
    try:
        enqueue([run], options)
    except InputError:
        shutil.rmtree(run.path)
        raise
    show_run(run, options)


def continue_run(run: "RunDirectory", options: "LaunchOptions", headless: bool, form: OutputForm) -> NoReturn:
    """Resume an existing run, in this process or from the queue."""
    from clarinet_tui.queue.requests import resume

    if headless:
        exec_worker(run, options, form, choose_devices(run.read_config().device))
    resume([run], options)
    show_run(run, options)


def show_run(run: "RunDirectory", options: "LaunchOptions") -> NoReturn:
    """Open the app with the run; without a terminal, print where the run is."""
    if options.slurm is None or sys.stdout.isatty():
        open_app(run, options.data_dir)
    print(f"{run.id} queued on Slurm. Watch it with: {shell_command('clarinet', 'queue', runs_dir=run.runs_dir)}")
    raise Exit


def choose_devices(request: str) -> "list[Device]":
    """Return the devices for a run of this terminal or batch job, best first; none leaves the choice to torch."""
    from clarinet_tui.devices.local import list_devices
    from clarinet_tui.devices.placement import match_devices, unavailable_reason

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


def exec_worker(run: "RunDirectory", options: "LaunchOptions", form: OutputForm, devices: "list[Device]") -> NoReturn:
    """Replace this process with the worker of a run, which keeps its pid and so its signals and exit code."""
    from clarinet_tui.devices.placement import worker_environment, worker_options
    from clarinet_tui.runs.worker_command import hook_environment, worker_arguments

    fresh = not run.journal.exists()
    arguments = worker_arguments(
        run, options.data_dir, json=form is not None, fresh=fresh, time_limit=options.time_limit
    )
    arguments += ["--json-array"] if form == "json" else []
    secrets = hook_environment(options.on_alarm, options.on_end)
    if not devices:
        replace_process(arguments, {**os.environ, **secrets})
    is_named = run.read_config().device != "auto"
    environment = {**worker_environment(devices[0]), **secrets}
    replace_process([*arguments, *worker_options(devices, share=is_named)], environment)
