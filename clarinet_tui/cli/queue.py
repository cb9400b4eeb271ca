"""`clarinet queue`: show and change the queue."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from clarinet_tui.cli.lookup import find_runs
from clarinet_tui.cli.options import RUNS, Ids, Json, Jsonl, RunIds, RunsDir
from clarinet_tui.cli.output import print_json_rows
from clarinet_tui.text import format_duration, printable, shell_command
from core.errors import InputError

if TYPE_CHECKING:
    from clarinet_tui.queue.queue_file import Queue
    from clarinet_tui.slurm.jobs import Jobs

COLUMNS = ("", "id", "state", "method", "task", "seed", "device", "waits for")
DEVICE_WIDTH = 12

app = typer.Typer(invoke_without_command=True, rich_markup_mode=None)


@app.callback()
def queue(context: typer.Context, json: Json = False, jsonl: Jsonl = False, runs_dir: RunsDir = RUNS) -> None:
    """Show and change the queue.

    Without a command, the same as `clarinet queue ls`.

    Example: clarinet queue
    """
    if context.invoked_subcommand is None:
        list_(json=json, jsonl=jsonl, runs_dir=runs_dir)


@app.command("ls")
def list_(json: Json = False, jsonl: Jsonl = False, runs_dir: RunsDir = RUNS) -> None:
    """List running and waiting runs.

    Waiting runs are in the order in which they will start, each with what it waits for.

    Example: clarinet queue ls
    """
    from clarinet_tui.queue.queue_file import read_all_queues
    from clarinet_tui.queue.supervisor import find_supervisor, is_unresponsive, queue_origin
    from clarinet_tui.slurm.jobs import refresh_jobs

    content = read_all_queues(runs_dir)
    jobs = refresh_jobs(runs_dir)
    rows = [*_rows(runs_dir, content), *_job_rows(runs_dir, jobs)]
    supervisor = find_supervisor(runs_dir)
    has_supervisor = supervisor is not None and not is_unresponsive(supervisor)
    has_own = any(not entry.user for entry in content.entries)
    if json or jsonl:
        print_json_rows(rows, lines=jsonl)
        return
    _print_table(rows, runs_dir)
    if jobs.problem:
        print(printable(jobs.problem))
    command = shell_command("clarinet", "queue", "continue", runs_dir=runs_dir)
    if content.paused:
        print(f"The queue is paused. Continue it with: {command}")
    elif has_own and (origin := queue_origin(runs_dir)):
        print(f"The queue belongs to {printable(origin)}. Start its runs here with: {command}")
    elif has_own and not has_supervisor:
        print(f"No supervisor is running. Start one with: {command}")


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
    from clarinet_tui.queue import requests

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
    """
    from clarinet_tui.queue import requests
    from clarinet_tui.queue.queue_file import read_queue
    from clarinet_tui.slurm.jobs import read_jobs

    if bool(ids) == all_:
        raise InputError("cancel: expected either run ids or --all")
    cancelled = [run.id for run in find_runs(runs_dir, ids or [])]
    if all_:
        cancelled = [entry.id for entry in read_queue(runs_dir).waiting]
        cancelled += [job.run for job in read_jobs(runs_dir).jobs if job.is_waiting]
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
    from clarinet_tui.queue import requests

    counts: dict[str, int] = {}
    for pair in pairs:
        counts |= _parse_slots(pair)
    requests.set_slots(runs_dir, counts)


def _parse_slots(pair: str) -> dict[str, int]:
    """Return slots by kind of device, or by the device key, which does not depend on the numbering of GPUs."""
    from clarinet_tui.devices.local import list_devices
    from clarinet_tui.devices.placement import match_devices

    name, _, count = pair.partition("=")
    if not name or not re.fullmatch("[0-9]{1,9}", count):
        raise InputError(f"slots: expected DEVICE=COUNT such as cpu=2, got {pair[:80]!a}")
    if name in ("cpu", "gpu"):
        return {name: int(count)}
    return {device.key: int(count) for device in match_devices(name, list_devices(seconds=0))}


def _pause(ids: list[str] | None, runs_dir: Path, paused: bool) -> None:
    from clarinet_tui.queue import requests

    requests.pause(runs_dir, [run.id for run in find_runs(runs_dir, ids or [])], paused)


def _rows(runs_dir: Path, content: "Queue") -> list[dict[str, Any]]:
    from clarinet_tui.devices.local import list_devices
    from clarinet_tui.queue.queue_file import only_schedulable
    from clarinet_tui.queue.scheduling import Scheduler

    own = only_schedulable(content, runs_dir)
    decisions = Scheduler(runs_dir).schedule(own, list_devices(seconds=0)) if own.waiting else []
    reasons = {entry.id: f"queued by {entry.user}" for entry in content.waiting if entry.user}
    reasons |= {decision.entry.id: decision.reason for decision in decisions}
    rows = []
    for place, entry in enumerate([*content.started, *content.waiting], 1 - len(content.started)):
        rows.append(
            {
                "place": max(place, 0),
                "id": entry.id,
                "state": "waiting" if entry.is_waiting else "running",
                **_read_settings(runs_dir, entry.id),
                "device": entry.device_key or entry.device,
                "priority": entry.priority,
                "retries": entry.retries,
                "waits_for": reasons.get(entry.id, ""),
                "not_before": entry.not_before or None,
                "after": list(entry.after),
                "time_limit": entry.time_limit or None,
            }
        )
    return rows


def _job_rows(runs_dir: Path, jobs: "Jobs") -> list[dict[str, Any]]:
    """Return the runs on Slurm, those that have started first; places are those among the user's own jobs."""
    from clarinet_tui.slurm.jobs import describe_wait

    ordered = sorted(jobs.jobs, key=lambda job: job.is_waiting)
    return [
        {
            "place": max(place, 0),
            "id": job.run,
            "state": "waiting" if job.is_waiting else "running",
            **_read_settings(runs_dir, job.run),
            "device": job.node or "slurm",
            "job": job.id,
            "waits_for": describe_wait(job) if job.is_waiting else "",
        }
        for place, job in enumerate(ordered, 1 - sum(not job.is_waiting for job in ordered))
    ]


def _read_settings(runs_dir: Path, run_id: str) -> dict[str, Any]:
    from clarinet_tui.runs.directory import RunDirectory

    try:
        config = RunDirectory(runs_dir, run_id).read_config()
    except InputError:
        return {"method": "?", "task": "?", "seed": None}
    return {"method": config.method, "task": config.task, "seed": config.seed}


def _print_table(rows: list[dict[str, Any]], runs_dir: Path) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    if not rows:
        sweep = shell_command("clarinet", "sweep", "--seeds", "1..3", "--preset", "quick", runs_dir=runs_dir)
        print(f"The queue is empty. Queue runs with: {sweep}")
        return
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for name in COLUMNS:
        table.add_column(name, overflow="fold")
    for row in rows:
        cells = [row["place"] or "", row["id"], row["state"], row["method"], row["task"], row["seed"]]
        limit = f"at most {format_duration(row['time_limit'])}" if row.get("time_limit") else ""
        cells += [str(row["device"])[:DEVICE_WIDTH], "; ".join(filter(None, (row["waits_for"], limit)))]
        table.add_row(*(Text(printable("" if cell is None else str(cell))) for cell in cells))
    Console(highlight=False).print(table)
