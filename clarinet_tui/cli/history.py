"""`clarinet ls`, `show` and `reindex`: what was recorded."""

import json as json_
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clarinet_tui.cli.completion import RunId, queries, sort_fields
from clarinet_tui.cli.open_history import find_row, open_history
from clarinet_tui.cli.options import Json, RunsDir
from clarinet_tui.cli.output import quiet_pipe
from clarinet_tui.cli.places import RUNS
from clarinet_tui.text import duration, printable

if TYPE_CHECKING:
    from clarinet_tui.history.queries import RunRow

COLUMNS = (
    "id",
    "state",
    "method",
    "task",
    "seed",
    "preset",
    "epoch",
    "target",
    "source",
    "pseudo",
    "time",
    "alarms",
    "tags",
)
ROOMY, WIDE = 90, 200
"""Columns of a terminal that has room for the preset, and of a file."""
WORDS = frozenset(
    {"id", "state", "method", "task", "preset", "name", "device", "host", "stage", "family", "label_hash"}
)
"""Fields that are sorted from a to z; numbers and times begin with the greatest."""
EVERYTHING = 1 << 60


def list_(
    query: Annotated[
        str, typer.Argument(help="Such as: method:clarinet acc>80 state:finished", autocompletion=queries)
    ] = "",
    sort: Annotated[
        str,
        typer.Option(metavar="FIELD", help="Such as created, acc, seed, task or time.", autocompletion=sort_fields),
    ] = "created",
    reverse: Annotated[bool, typer.Option("--reverse", "-r", help="The other way round.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="At most so many runs.")] = 50,
    all_: Annotated[bool, typer.Option("--all", "-a", help="However many there are.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Ids only, one a line.")] = False,
    json: Json = False,
    runs_dir: RunsDir = RUNS,
) -> None:
    """List runs, newest first; others by --sort come from the greatest on, texts from a on.

    Example: clarinet ls "method:clarinet task:M->U" --sort acc
    """
    from clarinet_tui.history.queries import SORT_NAMES, count_runs, list_runs

    field = SORT_NAMES.get(sort, sort)
    database = open_history(runs_dir)
    rows = list_runs(
        database, query, sort=field, descending=(field not in WORDS) != reverse, limit=EVERYTHING if all_ else limit
    )
    with quiet_pipe():
        if json:
            _print_json([_object(row) for row in rows])
        elif quiet:
            print("".join(f"{row.id}\n" for row in rows), end="")
        else:
            _table(rows, query)
    if len(rows) == limit and not all_ and (total := count_runs(database, query)) > limit:
        print(f"{limit} of {total} runs; --all lists them all", file=sys.stderr)


def show(
    id: RunId,  # noqa: A002
    json: Json = False,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Show one run: what it is, its progress, results, settings and surroundings, and why it failed.

    Example: clarinet show 6e3
    """
    from clarinet_tui.cli.show_text import as_object, describe, print_groups
    from clarinet_tui.history.queries import alarms, events
    from clarinet_tui.runs.directory import RunDirectory

    database = open_history(runs_dir)
    row = find_row(database, runs_dir, id)
    run, said, wrong = RunDirectory(runs_dir, row.id), events(database, row.id), alarms(database, row.id)
    with quiet_pipe():
        if json:
            _print_json(_object(row) | as_object(run, said, wrong))
        else:
            print_groups(describe(row, run, said, wrong))


def reindex(runs_dir: RunsDir = RUNS) -> None:
    """Make the history anew from the runs' journals and the queue, which are the truth.

    Example: clarinet reindex
    """
    from rich.progress import Progress

    from clarinet_tui.history.ingest import reindex as make_anew

    with Progress() as bar:
        task = bar.add_task("Reading journals", total=None)
        unread = make_anew(runs_dir, lambda done, total, _: bar.update(task, completed=done, total=total))
        open_history(runs_dir).close()  # what became of runs without a last word is told by queue and processes
    for run, why in unread.items():
        print(f"clarinet: run {run} cannot be read: {printable(why)}", file=sys.stderr)


def _object(row: "RunRow") -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(row)


def _print_json(content: Any) -> None:
    print(json_.dumps(content, indent=2))


def _table(rows: "list[RunRow]", query: str = "") -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False, width=None if sys.stdout.isatty() else WIDE)
    if not rows:
        print("No run matches." if query else "No runs. The first one: clarinet run --headless")
        return
    absent = {"preset"} if console.width < ROOMY else set()
    absent |= {name for name in ("alarms", "tags") if not any(getattr(row, name) for row in rows)}
    columns = [name for name in COLUMNS if name not in absent]
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for name in columns:
        right = name in ("epoch", "target", "source", "pseudo", "time")
        width = max(len(row.id) for row in rows) if name == "id" else None  # what is typed again is never cut
        justify: Any = "right" if right else "left"
        table.add_column(name, justify=justify, no_wrap=True, overflow="ellipsis", min_width=width)
    for row in rows:
        cells = dict(zip(COLUMNS, _cells(row), strict=True))
        table.add_row(*(Text(printable(cells[name])) for name in columns))
    console.print(table)


def _cells(row: "RunRow") -> tuple[str, ...]:
    return (
        row.id,
        row.state,
        row.method or "?",
        row.task or "?",
        "?" if row.seed is None else str(row.seed),
        row.preset or "?",
        f"{row.epoch or 0}/{row.epochs_total or '?'}",
        _percent(row.target_accuracy),
        _percent(row.source_accuracy),
        _percent(row.pseudo_label_accuracy),
        "" if row.seconds is None else duration(row.seconds),
        " ".join(row.alarms),
        " ".join(row.tags),
    )


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
