"""`clarinet tag` and `clarinet note`: annotate runs."""

from typing import Annotated

from typer import Argument, Option

from clarinet_tui.cli.lookup import select_runs
from clarinet_tui.cli.options import RUNS, Ids, Query, RunId, RunsDir
from clarinet_tui.runs.annotations import add_tag, remove_tag, set_note, validate_tag
from clarinet_tui.runs.directory import find_run
from clarinet_tui.text import format_count
from core.errors import InputError


def tag(
    ids: Ids = None,
    query: Query = None,
    add: Annotated[list[str] | None, Option("--add", "-a", metavar="TAG", help="Add this tag.")] = None,
    drop: Annotated[list[str] | None, Option("--drop", "-d", metavar="TAG", help="Remove this tag.")] = None,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Add or remove tags of runs.

    Queries find tagged runs with tag:NAME.

    Example: clarinet tag 6e3 6e4 --add icml
    """
    if not add and not drop:
        raise InputError("tag: expected --add TAG or --drop TAG")
    for name in [*(add or []), *(drop or [])]:
        validate_tag(name)
    runs = select_runs(runs_dir, ids, query)
    for run in runs:
        for name in add or []:
            add_tag(run, name)
        for name in drop or []:
            remove_tag(run, name)
    print(f"{format_count(len(runs), 'run')} {'tagged' if add else 'untagged'}")


def note(
    id: RunId,  # noqa: A002
    text: Annotated[str, Argument(help='Text of the note; "" removes it.')],
    runs_dir: RunsDir = RUNS,
) -> None:
    """Set the note of a run.

    Example: clarinet note 6e3 "diverged, try a lower rate"
    """
    set_note(find_run(runs_dir, id), text)
