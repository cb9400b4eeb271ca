"""`clarinet tag`, `note` and `rm`: annotate runs, or move them to the trash."""

from typing import Annotated

import typer
from typer import Argument, Option

from clarinet_tui.cli.completion import run_ids
from clarinet_tui.cli.lookup import find_runs, select_runs
from clarinet_tui.cli.options import RUN_WORDS, RUNS, Ids, Query, RunsDir
from clarinet_tui.history import trash
from clarinet_tui.runs.annotations import add_tag, remove_tag, set_note, validate_tag
from clarinet_tui.text import format_count, shell_command
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
    id: Annotated[str, Argument(metavar="ID", help=RUN_WORDS, autocompletion=run_ids)],  # noqa: A002
    text: Annotated[str, Argument(help='Text of the note; "" removes it.')],
    runs_dir: RunsDir = RUNS,
) -> None:
    """Set the note of a run.

    A query sets that of all runs that match.

    Example: clarinet note 6e3 "diverged, try a lower rate"
    """
    for run in find_runs(runs_dir, [id]):
        set_note(run, text)


def remove(
    ids: Ids = None,
    query: Query = None,
    undo: Annotated[bool, Option("--undo", help="Restore removed runs.")] = False,
    empty: Annotated[bool, Option("--empty", help="Delete all removed runs for good.")] = False,
    yes: Annotated[bool, Option("--yes", help="Do not ask for confirmation.")] = False,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Move runs to the trash, restore them, or empty the trash.

    The trash is the directory .trash in the runs directory.

    Example: clarinet rm 6e3
    """
    if undo and empty:
        raise InputError("rm: --undo and --empty exclude each other")
    if empty:
        if ids or query:
            raise InputError("rm: --empty deletes all removed runs; it takes no ids and no --query")
        count = len(trash.list_removed(runs_dir))
        if count and not yes:
            typer.confirm(f"Delete {format_count(count, 'removed run')} for good?", abort=True)
        print(f"{trash.empty_trash(runs_dir)} deleted")
    elif undo:
        if query or not ids:
            raise InputError("rm: --undo takes run ids; removed runs cannot be queried")
        for run_id in [trash.find_removed(runs_dir, prefix) for prefix in ids]:
            print(f"{trash.restore_run(runs_dir, run_id).id} restored")
    else:
        runs = select_runs(runs_dir, ids, query)
        trash.check_not_running(runs)
        for run in runs:
            trash.remove_run(run)
            restore = shell_command("clarinet", "rm", "--undo", run.id, runs_dir=runs_dir)
            print(f"{run.id} removed; to restore it: {restore}")
