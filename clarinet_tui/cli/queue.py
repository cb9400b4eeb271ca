"""`clarinet queue`: show and change the queue."""

import re
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from clarinet_tui.cli.columns import Described, complete_columns, parse_columns, runs_table
from clarinet_tui.cli.completion import Items
from clarinet_tui.cli.lookup import find_runs
from clarinet_tui.cli.options import RUNS, Ids, Json, Jsonl, RunIds, RunsDir
from clarinet_tui.cli.output import print_json_rows, print_table
from clarinet_tui.devices.device import match_devices
from clarinet_tui.devices.local import list_devices
from clarinet_tui.place import QueueRow
from clarinet_tui.queue import requests
from clarinet_tui.queue.local import LocalPlace
from clarinet_tui.tables.table import Column
from clarinet_tui.text import shell_command
from core.errors import InputError

app = typer.Typer(name="queue", invoke_without_command=True, rich_markup_mode=None)


def describe_columns() -> list[Described[QueueRow]]:
    return [
        (Column("", name="position"), lambda row: row.position or ""),
        (Column("id"), lambda row: row.id),
        (Column("state"), lambda row: _state(row)),
        (Column("method", wraps=True, least=10), lambda row: row.method),
        (Column("task", wraps=True, least=8), lambda row: row.task),
        (Column("seed"), lambda row: row.seed),
        (Column("device", drop=2), lambda row: (row.started_on or row.device)[:12]),
        (Column("waits for", wraps=True, least=16, growth=3), lambda row: row.waits_for),
    ]


def complete_queue_columns(incomplete: str) -> Items:
    return complete_columns(incomplete, (column for column, _ in describe_columns()))


Columns = Annotated[
    str,
    Option(
        metavar="NAMES",
        help="Columns and settings, separated by commas: id,classifier_rate,waits-for.",
        autocompletion=complete_queue_columns,
    ),
]


@app.callback()
def queue(
    context: typer.Context, columns: Columns = "", json: Json = False, jsonl: Jsonl = False, runs_dir: RunsDir = RUNS
) -> None:
    """Show and change the queue.

    Without a command, the same as `clarinet queue ls`.

    Example: clarinet queue
    """
    if context.invoked_subcommand is None:
        list_(columns=columns, json=json, jsonl=jsonl, runs_dir=runs_dir)


@app.command("ls")
def list_(columns: Columns = "", json: Json = False, jsonl: Jsonl = False, runs_dir: RunsDir = RUNS) -> None:
    """List running and waiting runs.

    Waiting runs are in the order in which they will start, each with what it waits for. Settings that differ among the
    runs are columns. A narrow terminal leaves out columns.

    Example: clarinet queue ls --columns id,classifier_rate,waits-for
    """
    places = requests.places(runs_dir)
    rows = [row for place in places for row in place.list_runs()]
    chosen = parse_columns(columns, (column for column, _ in describe_columns()), rows)
    if json or jsonl:
        print_json_rows(map(_as_object, rows), lines=jsonl)
        return
    if rows:
        print_table(runs_table(rows, describe_columns(), chosen, after="seed"), gap=1)
    else:
        sweep = shell_command("clarinet", "sweep", "--seeds", "1..3", "--preset", "quick", runs_dir=runs_dir)
        print(f"The queue is empty. Queue runs with: {sweep}")
    for place in places:
        for problem in place.describe_problems():
            print(problem)


def _state(row: QueueRow) -> str:
    return "waiting" if row.is_waiting else "running"


def _as_object(row: QueueRow) -> dict[str, Any]:
    return {
        "position": row.position,
        "id": row.id,
        "state": _state(row),
        "method": row.method,
        "task": row.task,
        "seed": row.seed,
        "device": row.started_on or row.device,
        "job": row.job or None,
        "priority": row.options.priority,
        "retries": row.options.retries,
        "waits_for": row.wait_reason,
        "not_before": row.options.not_before or None,
        "after": list(row.options.after),
        "time_limit": row.options.time_limit or None,
    }


@app.command()
def pause(ids: Ids = None, runs_dir: RunsDir = RUNS) -> None:
    """Pause waiting runs, or the whole queue.

    Running runs are not stopped.

    Example: clarinet queue pause
    """
    _pause(ids, runs_dir, True)


@app.command("continue")
def continue_(ids: Ids = None, runs_dir: RunsDir = RUNS) -> None:
    """Continue paused runs, or the whole queue.

    Starts a supervisor where none is running.

    Example: clarinet queue continue
    """
    _pause(ids, runs_dir, False)


@app.command()
def move(
    ids: RunIds,
    to: Annotated[int, Option(min=1, help="Position in the queue; 1 starts next.")] = 1,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Move waiting runs to another position.

    Example: clarinet queue move 6e3 --to 1
    """
    requests.move(runs_dir, [run.id for run in find_runs(runs_dir, ids)], to - 1)
    list_(runs_dir=runs_dir)


@app.command()
def cancel(
    ids: Ids = None,
    all_: Annotated[bool, Option("--all", help="Cancel all waiting runs.")] = False,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Remove waiting runs from the queue.

    `clarinet resume` queues them again.

    Example: clarinet queue cancel 6e3

    Example: clarinet queue cancel "sweep:first state:queued"
    """
    if bool(ids) == all_:
        raise InputError("cancel: expected either run ids or --all")
    cancelled = [run.id for run in find_runs(runs_dir, ids or [])]
    if all_:
        rows = [row for place in requests.places(runs_dir) for row in place.list_runs()]
        cancelled = [row.id for row in rows if row.is_waiting and not row.user]
    requests.cancel(runs_dir, cancelled)
    print(f"{len(cancelled)} cancelled")


@app.command()
def slots(
    pairs: Annotated[list[str], Argument(metavar="DEVICE=COUNT", help="cpu=2, gpu=1, cuda:0=2 or the UUID of a GPU.")],
    runs_dir: RunsDir = RUNS,
) -> None:
    """Set how many runs may share a device.

    The default is one.

    Example: clarinet queue slots cpu=2 gpu=1
    """
    counts: dict[str, int] = {}
    for pair in pairs:
        name, _, count = pair.partition("=")
        if not name or not re.fullmatch("[0-9]{1,9}", count):
            raise InputError(f"slots: expected DEVICE=COUNT such as cpu=2, got {pair[:80]!a}")
        if name in ("cpu", "gpu"):
            counts[name] = int(count)
        else:  # by their keys, which do not depend on the numbering of GPUs
            counts |= {device.key: int(count) for device in match_devices(name, list_devices(seconds=0))}
    LocalPlace(runs_dir).set_slots(counts)


def _pause(ids: list[str] | None, runs_dir: Path, paused: bool) -> None:
    if ids:
        requests.hold(runs_dir, [run.id for run in find_runs(runs_dir, ids)], paused)
    else:
        LocalPlace(runs_dir).pause(paused)
