"""`clarinet queue`: what waits, in which order, and why."""

import json as json_
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clarinet_tui.cli.completion import RunIds
from clarinet_tui.cli.options import Ids, Json, RunsDir, find_runs
from clarinet_tui.cli.places import RUNS
from clarinet_tui.text import printable
from core.errors import InputError

if TYPE_CHECKING:
    from clarinet_tui.queue.queue_file import Queue

app = typer.Typer(
    help="See and change the queue.", no_args_is_help=False, invoke_without_command=True, rich_markup_mode=None
)


@app.callback()
def queue(context: typer.Context, json: Json = False, runs_dir: RunsDir = RUNS) -> None:
    """See and change the queue; without a command, the same as `clarinet queue ls`.

    Example: clarinet queue
    """
    if context.invoked_subcommand is None:
        list_(json=json, runs_dir=runs_dir)


@app.command("ls")
def list_(json: Json = False, runs_dir: RunsDir = RUNS) -> None:
    """List running and waiting runs in the order of starting, and say what each one waits for.

    Example: clarinet queue ls
    """
    from clarinet_tui.queue.queue_file import read_queue
    from clarinet_tui.queue.supervisor_process import fed_elsewhere, supervisor

    found = read_queue(runs_dir)
    rows = _rows(runs_dir, found)
    if json:
        present = supervisor(runs_dir) is not None
        said = {"paused": found.paused, "supervisor": present, "slots": found.slots, "entries": rows}
        print(json_.dumps(said, indent=2))
        return
    _table(rows)
    if found.paused:
        print("The queue is paused: clarinet queue continue")
    elif found.entries and (host := fed_elsewhere(runs_dir)):
        print(f"The queue is that of {printable(host)}; to start its runs on this machine: clarinet queue continue")
    elif found.entries and supervisor(runs_dir) is None:
        print("Nobody feeds the queue (the supervisor was killed): clarinet queue continue")


@app.command()
def pause(ids: Ids = None, runs_dir: RunsDir = RUNS) -> None:
    """Start none of these runs, or no run at all; what runs goes on.

    Example: clarinet queue pause
    """
    _pause(ids, runs_dir, True)


@app.command("continue")
def continue_(ids: Ids = None, runs_dir: RunsDir = RUNS) -> None:
    """Let paused runs, or the whole queue, go on.

    Example: clarinet queue continue
    """
    _pause(ids, runs_dir, False)


@app.command()
def move(
    ids: RunIds,
    to: Annotated[int, typer.Option(min=1, help="Their place in the queue; 1 starts next.")] = 1,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Move waiting runs to another place in the queue.

    Example: clarinet queue move 6e3 --to 1
    """
    from clarinet_tui.queue import requests

    requests.move(runs_dir, [run.id for run in find_runs(runs_dir, ids)], to - 1)
    list_(runs_dir=runs_dir)


@app.command()
def cancel(ids: Ids = None, all_: Annotated[bool, typer.Option("--all")] = False, runs_dir: RunsDir = RUNS) -> None:
    """Take waiting runs out of the queue; `clarinet resume` puts them in again.

    Example: clarinet queue cancel 6e3
    """
    from clarinet_tui.queue import requests
    from clarinet_tui.queue.queue_file import read_queue

    if bool(ids) == all_:
        raise InputError("cancel: say which runs, or --all")
    chosen = [entry.id for entry in read_queue(runs_dir).waiting]
    if ids:
        chosen = [run.id for run in find_runs(runs_dir, ids)]
    requests.cancel(runs_dir, chosen)
    print(f"{len(chosen)} cancelled")


@app.command()
def slots(
    pairs: Annotated[
        list[str], typer.Argument(metavar="DEVICE=COUNT…", help="cpu=2, gpu=1, cuda:0=2 or a GPU's UUID.")
    ],
    runs_dir: RunsDir = RUNS,
) -> None:
    """Say how many runs may share a device; one is the default.

    Example: clarinet queue slots cpu=2 gpu=1
    """
    from clarinet_tui.queue import requests

    wanted: dict[str, int] = {}
    for pair in pairs:
        wanted |= _parse_slots(pair)
    requests.set_slots(runs_dir, wanted)


def _parse_slots(pair: str) -> dict[str, int]:
    """By what the queue knows a device as: all of a kind, or the key that stays when others count differently."""
    from clarinet_tui.devices.local import candidates, list_devices

    device, _, count = pair.partition("=")
    if not device or not re.fullmatch("[0-9]{1,9}", count):
        raise InputError(f"slots: expected DEVICE=COUNT such as cpu=2, got {pair[:80]!a}")
    if device in ("cpu", "gpu"):
        return {device: int(count)}
    return {found.key: int(count) for found in candidates(device, list_devices(seconds=0))}


def _pause(ids: list[str] | None, runs_dir: Path, paused: bool) -> None:
    from clarinet_tui.queue import requests

    requests.pause(runs_dir, [run.id for run in find_runs(runs_dir, ids or [])], paused)


def _rows(runs_dir: Path, found: "Queue") -> list[dict[str, Any]]:
    from clarinet_tui.devices.local import list_devices
    from clarinet_tui.queue.waiting import Waiting
    from clarinet_tui.runs.directory import RunDirectory

    decisions = Waiting(runs_dir).decide(found, list_devices(seconds=0)) if found.waiting else []
    why = {decision.entry.id: decision.why for decision in decisions}
    rows = []
    for place, entry in enumerate([*found.started, *found.waiting], 1 - len(found.started)):
        try:
            config = RunDirectory(runs_dir, entry.id).read_config()
            what = {"method": config.method, "task": config.task, "seed": config.seed}
        except InputError:
            what = {"method": "?", "task": "?", "seed": None}
        state = "waiting" if entry.waits else "running"
        row = {"place": max(place, 0), "id": entry.id, "state": state, **what, "device": entry.on or entry.device}
        rows.append(row | {"priority": entry.priority, "retries": entry.retries, "waits_for": why.get(entry.id, "")})
    return rows


def _table(rows: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from clarinet_tui.text import printable

    console = Console(highlight=False)
    if not rows:
        console.print(Text("The queue is empty. Fill it: clarinet sweep --methods clarinet --tasks Y->D --seeds 1..3"))
        return
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for name in ("", "id", "state", "method", "task", "seed", "device", "waits for"):
        table.add_column(name, overflow="fold")
    for row in rows:
        cells = [row["place"] or "", row["id"], row["state"], row["method"], row["task"], row["seed"]]
        cells += [str(row["device"])[:12], row["waits_for"]]
        table.add_row(*(Text(printable("" if cell is None else str(cell))) for cell in cells))
    console.print(table)
