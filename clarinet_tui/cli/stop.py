"""`clarinet stop`, `resume` and `clone`: end runs, continue them, start others like them."""

from typing import Annotated

from typer import Option

from clarinet_tui.cli.launch import merge_pairs, slurm_options
from clarinet_tui.cli.lookup import select_runs
from clarinet_tui.cli.options import DATA, RUNS, DataDir, Ids, On, Query, RunId, RunsDir, Settings, SlurmPairs
from clarinet_tui.place import LaunchOptions, StopResult
from clarinet_tui.queue import requests
from clarinet_tui.queue.local import LocalPlace
from clarinet_tui.runs.directory import find_run
from clarinet_tui.text import shell_command
from core.resolve import minimal_settings, resolve


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
    if seed is not None:
        settings["seed"] = seed
    settings = merge_pairs(settings, set_)
    options = LaunchOptions.from_paths(data_dir)
    place = LocalPlace(runs_dir)
    cores = place.cores(str(settings.get("device", "auto")), options)
    (run,) = place.submit([resolve(settings, source="command line", cores=cores)], options)
    print(f"{run.id} queued")
