"""`clarinet logs`: what a run said, and what its worker printed."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from clarinet_tui.cli.completion import RunId
from clarinet_tui.cli.options import RunsDir
from clarinet_tui.cli.output import quiet_pipe
from clarinet_tui.cli.places import RUNS

if TYPE_CHECKING:
    from clarinet_tui.logs.run_log import Story

POLL = 0.25


def logs(
    id: RunId,  # noqa: A002
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the run is over.")] = False,
    lines: Annotated[int, typer.Option("--lines", "-n", min=0, help="The last lines so far.")] = 100,
    grep: Annotated[str, typer.Option(metavar="TEXT", help="Only lines with this text, whatever the case.")] = "",
    runs_dir: RunsDir = RUNS,
) -> None:
    """Print what a run said (stages, evaluations, notices, failures) and what its worker printed.

    Example: clarinet logs 6e3 -f
    """
    from clarinet_tui.logs.run_log import Story
    from clarinet_tui.runs.directory import find_run

    run = find_run(runs_dir, id)
    text = grep.casefold()
    with quiet_pipe(), _left_by_ctrl_c(), Story(run, lambda line: text in line.casefold()) as story:
        told = story.last(lines)
        if not follow:
            told = [*told, *story.torn()][-lines:] if lines else []
        for line in told:
            print(line)
        if follow:
            _follow(story)
    if not follow and not run.journal.exists() and not run.log.exists():
        _note(f"run {run.id} has not begun; -f waits for it")
    if follow and not story.said_last_word:
        _note(f"run {run.id} ended without a last word; go on with: clarinet resume {run.id}")


@contextmanager
def _left_by_ctrl_c() -> Iterator[None]:
    """It is how one stops following, and nothing is left undone."""
    try:
        yield
    except KeyboardInterrupt:
        raise typer.Exit(0) from None


def _follow(story: "Story") -> None:
    """Until the run is over."""
    over = False
    while not over:
        over = story.over()  # asked first: what was said before its end is read now
        for line in story.new():
            print(line)
        sys.stdout.flush()
        if not over:
            time.sleep(POLL)
    for line in story.torn():
        print(line)


def _note(sentence: str) -> None:
    print(f"clarinet: {sentence}", file=sys.stderr)
