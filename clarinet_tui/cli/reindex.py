"""`clarinet reindex` and `clarinet check`: rebuild the history, or compare it with the journals."""

import typer

from clarinet_tui.cli.lookup import find_runs, open_history
from clarinet_tui.cli.options import RUNS, Ids, RunsDir
from clarinet_tui.cli.output import show_progress, warn
from clarinet_tui.history.reindex import find_mismatch
from clarinet_tui.history.reindex import reindex as rebuild
from clarinet_tui.runs.directory import list_runs
from clarinet_tui.text import format_count
from core.errors import InputError


def reindex(runs_dir: RunsDir = RUNS) -> None:
    """Rebuild the history from the run directories.

    Example: clarinet reindex
    """
    if runs_dir.exists() and not runs_dir.is_dir():
        raise InputError(f"{runs_dir}: is not a directory")
    with show_progress() as show:
        problems = rebuild(runs_dir, lambda done, total: show("Reading journals", done, total))
        open_history(runs_dir).close()  # states of runs without a final event follow from queue and processes
    for run_id, problem in problems.items():
        warn(f"run {run_id} cannot be read: {problem}")


def check(ids: Ids = None, runs_dir: RunsDir = RUNS) -> None:
    """Compare every row of the history with the journals.

    The exit code is 1 if a run differs; `clarinet doctor --repair` ingests such runs again.

    Example: clarinet check 6e3
    """
    runs = find_runs(runs_dir, ids) if ids else list_runs(runs_dir)
    with open_history(runs_dir) as database:
        found = {run.id: mismatch for run in runs if (mismatch := find_mismatch(database, run, rows=True))}
    for run_id, mismatch in found.items():
        print(f"{run_id}: {mismatch}")
    print(f"{format_count(len(runs) - len(found), 'run')} of {len(runs)} agree with their journals")
    if found:
        raise typer.Exit(1)
