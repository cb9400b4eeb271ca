"""`clarinet stop`, `resume`, `rm`, `clone`, `tag` and `note`: what can be done with runs that are there."""

from pathlib import Path
from typing import Annotated

import typer

from clarinet_tui.cli.completion import RunId
from clarinet_tui.cli.options import DataDir, Ids, Query, RunsDir, Settings, chosen_runs
from clarinet_tui.cli.places import DATA, RUNS
from clarinet_tui.text import counted
from core.errors import InputError


def stop(
    ids: Ids = None,
    query: Query = None,
    grace: Annotated[float, typer.Option(min=0, help="Seconds to save before it is killed.")] = 60.0,
    wait: Annotated[bool, typer.Option(help="Wait until it has stopped.")] = True,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Stop runs: each saves a checkpoint and can be resumed; one that waits in the queue leaves it.

    Example: clarinet stop 6e3
    """
    from clarinet_tui.queue import requests

    runs = chosen_runs(runs_dir, ids, query)
    requests.refuse_unless_active(runs)
    asked = [run for run in runs if _told(run.id, requests.stop(run, grace)) == "was asked to stop"]
    for run in asked if wait else ():
        saved = requests.wait_until_stopped(run, grace)
        print(f"{run.id} {'has stopped' if saved else 'was killed, and goes on from its last checkpoint'}")


def _told(run_id: str, done: str) -> str:
    print(f"{run_id} {done}")
    return done


def resume(
    ids: Ids = None,
    query: Query = None,
    device: Annotated[str | None, typer.Option(help="Go on somewhere else.")] = None,
    retries: Annotated[int, typer.Option(min=0, help="Begin again so often if it is lost or fails.")] = 0,
    runs_dir: RunsDir = RUNS,
    data_dir: DataDir = DATA,
) -> None:
    """Put stopped, failed, lost or cancelled runs into the queue: each goes on from its last checkpoint.

    Example: clarinet resume 6e3
    """
    from clarinet_tui.queue import requests

    runs = chosen_runs(runs_dir, ids, query)
    requests.resume(runs, requests.Wishes(data_dir, Path.cwd(), retries=retries), device)
    for run in runs:
        print(f"{run.id} queued")


def clone(
    id: RunId,  # noqa: A002
    seed: Annotated[int | None, typer.Option(help="Another seed.")] = None,
    set_: Settings = None,
    runs_dir: RunsDir = RUNS,
    data_dir: DataDir = DATA,
) -> None:
    """Queue a new run with the settings of one that is there, changed as you say.

    Example: clarinet clone 6e3 --seed 2 --set epochs=5
    """
    from clarinet_tui.cli.run import parse_pair
    from clarinet_tui.queue import requests
    from clarinet_tui.runs.directory import find_run
    from core.config import merge
    from core.resolve import resolve, settings_of

    settings = settings_of(find_run(runs_dir, id).read_config())
    if seed is not None:
        settings["seed"] = seed
    for pair in set_ or []:
        settings = merge(settings, parse_pair(pair))
    cores = requests.cores_for(runs_dir, str(settings.get("device", "auto")))
    config = resolve(settings, place="command line", cores=cores)
    (made,) = requests.submit(runs_dir, [config], requests.Wishes(data_dir, Path.cwd()))
    print(f"{made.id} queued")


def remove(
    ids: Ids = None,
    query: Query = None,
    undo: Annotated[bool, typer.Option("--undo", help="Take removed runs back.")] = False,
    empty: Annotated[bool, typer.Option("--empty", help="Delete for good what was removed.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Move runs to runs/.trash; --undo takes them back, --empty deletes them for good.

    Example: clarinet rm 6e3
    """
    from clarinet_tui.history import trash

    if undo and empty:
        raise InputError("rm: --undo and --empty do not go together")
    if empty:
        if ids or query:
            raise InputError("rm: --empty deletes all that was removed: say it without runs")
        count = len(trash.removed(runs_dir))
        if count and not yes:
            typer.confirm(f"Delete {counted(count, 'removed run')} for good?", abort=True)
        print(f"{trash.empty(runs_dir)} deleted")
    elif undo:
        if query or not ids:
            raise InputError("rm: say the ids of the runs to take back; history knows no removed ones to query")
        for one in [trash.find_removed(runs_dir, prefix) for prefix in ids]:
            print(f"{trash.restore(runs_dir, one).id} is back")
    else:
        runs = chosen_runs(runs_dir, ids, query)
        trash.refuse_if_live(runs)
        for run in runs:
            trash.remove(run)
            print(f"{run.id} removed; take it back with: clarinet rm --undo {run.id}")


def tag(
    ids: Ids = None,
    query: Query = None,
    add: Annotated[list[str] | None, typer.Option("--add", "-a", metavar="TAG", help="Give this tag.")] = None,
    drop: Annotated[list[str] | None, typer.Option("--drop", "-d", metavar="TAG", help="Take this tag away.")] = None,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Give runs tags, or take them away; queries find them as tag:NAME.

    Example: clarinet tag 6e3 6e4 --add icml
    """
    from clarinet_tui.runs.annotations import add_tag, checked_tag, remove_tag

    if not add and not drop:
        raise InputError("tag: say --add TAG or --drop TAG")
    for name in [*(add or []), *(drop or [])]:
        checked_tag(name)
    runs = chosen_runs(runs_dir, ids, query)
    for run in runs:
        for name in add or []:
            add_tag(run, name)
        for name in drop or []:
            remove_tag(run, name)
    print(f"{counted(len(runs), 'run')} {'tagged' if add else 'untagged'}")


def note(
    id: RunId,  # noqa: A002
    text: Annotated[str, typer.Argument(help='What to remember; "" takes the note away.')],
    runs_dir: RunsDir = RUNS,
) -> None:
    """Write a note to a run; `clarinet show` tells it.

    Example: clarinet note 6e3 "diverged, try a lower rate"
    """
    from clarinet_tui.runs.annotations import set_note
    from clarinet_tui.runs.directory import find_run

    set_note(find_run(runs_dir, id), text)
