"""The options that several commands share."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clarinet_tui.cli.completion import queries, run_ids, setting_names
from core.errors import InputError

if TYPE_CHECKING:
    from clarinet_tui.runs.directory import RunDirectory

RunsDir = Annotated[Path, typer.Option("--runs-dir", envvar="CLARINET_RUNS", help="Where runs are kept.")]
DataDir = Annotated[Path, typer.Option("--data-dir", envvar="CLARINET_DATA", help="Where data sets are kept.")]
Json = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]
Ids = Annotated[
    list[str] | None, typer.Argument(metavar="[ID…]", help="Runs' ids, or their beginnings.", autocompletion=run_ids)
]
Query = Annotated[
    str | None,
    typer.Option("--query", "-q", help="All runs that match, such as: tag:old acc<50", autocompletion=queries),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Any other setting.", autocompletion=setting_names),
]
OnAlarm = Annotated[
    str | None,
    typer.Option("--on-alarm", metavar="COMMAND", help="Run this for each alarm, without a shell (CLARINET_ALARM, …)."),
]


def alarm_words(command: str | None) -> tuple[str, ...]:
    from clarinet_tui.worker.alarm_hook import command_words

    return () if command is None else command_words(command)


def find_runs(runs_dir: Path, ids: list[str]) -> "list[RunDirectory]":
    """Each run once, in the order given."""
    from clarinet_tui.runs.directory import find_run

    found = {run.id: run for run in (find_run(runs_dir, one) for one in ids)}
    return list(found.values())


def chosen_runs(runs_dir: Path, ids: list[str] | None, query: str | None) -> "list[RunDirectory]":
    """By name or by query, not both; all of them are found before anything is done to one."""
    from clarinet_tui.cli.open_history import open_history
    from clarinet_tui.history.queries import list_runs
    from clarinet_tui.runs.directory import RunDirectory

    if bool(ids) == bool(query):
        raise InputError("say which runs: their ids, or --query")
    if ids:
        return find_runs(runs_dir, ids)
    with open_history(runs_dir) as db:
        found = [RunDirectory(runs_dir, row.id) for row in list_runs(db, query or "", limit=-1)]
    if not found:
        raise InputError(f"--query: no run matches {query!a}")
    return found
