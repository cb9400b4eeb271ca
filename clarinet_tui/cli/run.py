"""`clarinet run`: train one run in this process, or queue it and open the app."""

import os
import sys
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

from typer import Argument, Exit, Option

from clarinet_tui.cli.completion import method_names, run_ids, task_names
from clarinet_tui.cli.launch import Launch, confirm_cost, make_config, slurm_options, warn_of_cost
from clarinet_tui.cli.tui import replace_process, tui
from clarinet_tui.devices.device import Device, match_devices, select_device, unavailable_reason, worker_options
from clarinet_tui.devices.local import list_devices
from clarinet_tui.place import LaunchOptions
from clarinet_tui.queue import requests
from clarinet_tui.queue.requests import place_named
from clarinet_tui.runs.directory import RunDirectory, find_run
from clarinet_tui.runs.worker_command import hook_environment, worker_arguments
from clarinet_tui.text import shell_command
from core.errors import InputError

OutputForm = Literal["array", "lines"] | None
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
    chosen = launch.choose(method=method, task=task, seed=seed, device=device)
    jobs = slurm_options(None if headless and "CLARINET_ON" in os.environ else launch.on, launch.slurm)
    options = launch.make_options(jobs)
    place = place_named(launch.runs_dir, options.on)
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
        exec_worker(RunDirectory.create(launch.runs_dir, config, id=run_id), options, form, devices)
    (new,) = place.submit([config], options, run_id=run_id)
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
    place = place_named(run.runs_dir, options.on)
    if place.is_here or sys.stdout.isatty():
        tui([run.id], runs_dir=run.runs_dir, data_dir=Path(options.data_dir))
    watch = shell_command("clarinet", "queue", runs_dir=run.runs_dir)
    print(f"{run.id} queued on {place.title}. Watch it with: {watch}")
    raise Exit


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
