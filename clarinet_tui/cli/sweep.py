"""`clarinet sweep`: queue a grid of runs."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from clarinet_tui.cli.completion import method_names, task_names
from clarinet_tui.cli.launch import Launch, confirm_cost, slurm_options
from clarinet_tui.cli.output import print_json_rows
from clarinet_tui.queue.requests import place_named
from clarinet_tui.queue.sweep import expand_grid, parse_grid, parse_seeds, parse_value
from clarinet_tui.runs.directory import read_toml
from clarinet_tui.text import shell_command
from core.config import merge_settings
from core.errors import InputError
from core.tasks import OFFLINE_TASK


def sweep(
    file: Annotated[
        Path | None, Argument(metavar="FILE", help="TOML file: methods, tasks, seeds, [grid], settings.")
    ] = None,
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

    Options on the command line override the file.

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
        name, equals, values = text.partition("=")
        if not equals or not name.strip() or not values.strip():
            raise InputError(f"--grid: expected KEY=A,B, got {text!a}")
        axes[name.strip()] = [parse_value(value) for value in _split(values)]
    runs = replace(
        runs,
        methods=_split(methods) if methods else runs.methods,
        tasks=_split(tasks) if tasks else runs.tasks or [OFFLINE_TASK],
        seeds=parse_seeds(seeds) if seeds else runs.seeds,
        settings=merge_settings(runs.settings, launch.choose(device=device)),
        axes=axes,
    )
    options = launch.make_options(jobs, priority=priority, retries=retries, share_device=share, paused=paused)
    place = place_named(launch.runs_dir, options.on)
    configs = expand_grid(runs, place.cores(str(runs.settings.get("device", "auto")), options))
    if dry_run:
        texts = place.preview(configs, options)
        _output(texts, "\n".join(texts).rstrip("\n") + "\n", launch)
        return
    if place.is_here and not yes and not paused:
        confirm_cost(configs, launch.runs_dir, launch.data_dir)
    ids = [run.id for run in place.submit(configs, options)]
    queued = f"1 run queued: {ids[0]}" if len(ids) == 1 else f"{len(ids)} runs queued: {ids[0]} to {ids[-1]}"
    watch = (shell_command(*words, runs_dir=launch.runs_dir) for words in (("clarinet-tui",), ("clarinet", "queue")))
    _output(ids, f"{queued}. Watch {'it' if len(ids) == 1 else 'them'} with: {' or '.join(watch)}\n", launch)


def _output(values: list[str], text: str, launch: Launch) -> None:
    if launch.json or launch.jsonl:
        print_json_rows(values, lines=launch.jsonl)
    else:
        print(text, end="")


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
