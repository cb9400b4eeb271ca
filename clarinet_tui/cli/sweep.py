"""`clarinet sweep`: a grid of runs into the queue."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clarinet_tui.cli.completion import method_names, preset_names, task_names
from clarinet_tui.cli.options import DataDir, Json, OnAlarm, RunsDir, Settings, alarm_words
from clarinet_tui.cli.places import DATA, RUNS
from core.errors import InputError

if TYPE_CHECKING:
    from clarinet_tui.queue.sweep import Grid


def sweep(
    file: Annotated[Path | None, typer.Argument(help="A TOML file: methods, tasks, seeds, [grid], settings.")] = None,
    methods: Annotated[str | None, typer.Option(help="clarinet,gac+cdan-e", autocompletion=method_names)] = None,
    tasks: Annotated[str | None, typer.Option(help='"M->U,U->M"', autocompletion=task_names)] = None,
    seeds: Annotated[str | None, typer.Option(help="1..5 or 1,2,7")] = None,
    grid: Annotated[list[str] | None, typer.Option(metavar="KEY=A,B", help="Another setting's values.")] = None,
    preset: Annotated[
        str | None, typer.Option(help="paper, literal, quick or smoke.", autocompletion=preset_names)
    ] = None,
    epochs: Annotated[int | None, typer.Option(help="Adaptation epochs.")] = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu, cuda:0,2 or GPUs' UUIDs.")] = None,
    set_: Settings = None,
    priority: Annotated[int, typer.Option(help="Higher starts first.")] = 0,
    retries: Annotated[int, typer.Option(min=0, help="Begin a run again so often if it is lost or fails.")] = 0,
    share: Annotated[bool, typer.Option("--share", help="Start where others compute too.")] = False,
    paused: Annotated[bool, typer.Option("--paused", help="Queue, but do not start yet.")] = False,
    on_alarm: OnAlarm = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the commands and start nothing.")] = False,
    json: Json = False,
    runs_dir: RunsDir = RUNS,
    data_dir: DataDir = DATA,
) -> None:
    """Queue every combination of methods, tasks, seeds and other settings.

    Example: clarinet sweep --methods clarinet,gac+cdan-e --tasks "M->U" --seeds 1..5 --preset quick
    """
    from clarinet_tui.queue.requests import Wishes, cores_for, submit
    from clarinet_tui.queue.sweep import expand, run_command

    flags = {"preset": preset, "epochs": epochs, "device": device}
    asked = _grid(
        file, methods, tasks, seeds, grid or [], {k: v for k, v in flags.items() if v is not None}, set_ or []
    )
    configs = expand(asked, cores_for(runs_dir, str(asked.settings.get("device", "auto"))))
    wishes = Wishes(data_dir, Path.cwd(), priority, retries, share, paused, alarm_words(on_alarm))
    if dry_run:
        _print_lines([run_command(point, on_alarm) for point in asked.points()], json)
        return
    made = submit(runs_dir, configs, wishes)
    if json:
        _print_lines([run.id for run in made], json)
    elif len(made) == 1:
        print(f"1 run queued, {made[0].id}. Watch it: clarinet-tui, or clarinet queue")
    else:
        print(f"{len(made)} runs queued, {made[0].id} to {made[-1].id}. Watch them: clarinet-tui, or clarinet queue")


def _print_lines(lines: list[str], json: bool) -> None:
    """One a line, or a list for programs."""
    import json as json_

    print(json_.dumps(lines) if json else "\n".join(lines))


def _grid(
    file: Path | None,
    methods: str | None,
    tasks: str | None,
    seeds: str | None,
    axes: list[str],
    flags: dict[str, Any],
    pairs: list[str],
) -> "Grid":
    """The file's grid, with what the command line says on top."""
    from dataclasses import replace

    from clarinet_tui.cli.run import parse_pair, read_toml
    from clarinet_tui.queue.sweep import parse_seeds, read_grid
    from core.config import merge
    from core.tasks import OFFLINE_TASK

    found = read_grid(read_toml(file), str(file)) if file else read_grid({}, "command line")
    changes: dict[str, Any] = {"settings": merge(found.settings, flags)}
    for pair in pairs:
        changes["settings"] = merge(changes["settings"], parse_pair(pair))
    if methods:
        changes["methods"] = _listed(methods)
    if tasks or not found.tasks:
        changes["tasks"] = _listed(tasks) if tasks else [OFFLINE_TASK]
    if seeds:
        changes["seeds"] = parse_seeds(seeds)
    changes["axes"] = {**found.axes, **dict(_axis(axis) for axis in axes)}
    return replace(found, **changes)


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _axis(text: str) -> tuple[str, list[Any]]:
    """`stage1.epochs=3,5` as a name and its values."""
    from clarinet_tui.cli.run import read_value

    name, equals, values = text.partition("=")
    if not equals or not name.strip() or not values.strip():
        raise InputError(f"--grid: expected KEY=A,B, got {text!a}")
    return name.strip(), [read_value(value) for value in _listed(values)]
