"""`clarinet reindex`: rebuild the history."""

from clarinet_tui.cli.lookup import open_history
from clarinet_tui.cli.options import RUNS, RunsDir
from clarinet_tui.cli.output import show_progress, warn
from clarinet_tui.history.reindex import reindex as rebuild
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
