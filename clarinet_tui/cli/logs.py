"""`clarinet logs`: the events of a run and the output of its worker."""

import sys
import time
from typing import Annotated

import typer
from typer import Option

from clarinet_tui.cli.lookup import find_run
from clarinet_tui.cli.options import RUNS, RunId, RunsDir
from clarinet_tui.cli.output import quiet_pipe, warn
from clarinet_tui.logs.run_log import RunLog
from clarinet_tui.text import shell_command

POLL = 0.25
"""Seconds between reads of a followed log."""


def logs(
    id: RunId,  # noqa: A002
    follow: Annotated[bool, Option("--follow", "-f", help="Follow the log until the run ends.")] = False,
    lines: Annotated[int, Option("--lines", "-n", min=0, help="Number of last lines to print.")] = 100,
    grep: Annotated[str, Option(metavar="TEXT", help="Only lines with TEXT, ignoring case.")] = "",
    runs_dir: RunsDir = RUNS,
) -> None:
    """Print or follow the log of a run.

    The log has its stages, evaluations, notices and failures, and what its worker printed.

    Example: clarinet logs 6e3 -f
    """
    run, text = find_run(runs_dir, id), grep.casefold()
    try:
        with quiet_pipe(), RunLog(run, lambda line: text in line.casefold(), runs_dir) as log:
            last = log.read_last(lines)
            if not follow:
                last = [*last, *log.read_partial()][-lines:] if lines else []
            sys.stdout.writelines(f"{line}\n" for line in last)
            over = not follow
            while not over:
                over = log.is_over()  # checked before reading, so that the last lines are not missed
                sys.stdout.writelines(f"{line}\n" for line in log.read_new())
                sys.stdout.flush()
                if not over:
                    time.sleep(POLL)
            if follow:
                sys.stdout.writelines(f"{line}\n" for line in log.read_partial())
    except KeyboardInterrupt:  # the normal way to stop following
        raise typer.Exit(0) from None
    if not follow and not run.journal.exists() and not run.log.exists():
        warn(f"run {run.id} has not started; -f waits for it")
    if follow and not log.has_final_event:
        resume = shell_command("clarinet", "resume", run.id, runs_dir=runs_dir)
        warn(f"run {run.id} ended without a final event; resume it with: {resume}")
