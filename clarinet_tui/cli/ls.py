"""`clarinet ls` and `clarinet reindex`: list the history, and rebuild it."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from clarinet_tui.cli.completion import sort_fields
from clarinet_tui.cli.lookup import open_history
from clarinet_tui.cli.options import RUNS, Json, Jsonl, QueryWords, RunsDir, join_query
from clarinet_tui.cli.output import make_console, print_json_rows, quiet_pipe, warn
from clarinet_tui.text import format_duration, printable, shell_command, shorten
from core.errors import InputError

if TYPE_CHECKING:
    from clarinet_tui.history.queries import RunRow

NUMBERS = ("epoch", "target", "source", "pseudo", "time")
MAX_DAMAGED = 5
"""Runs with unreadable files that are named."""
MAX_NAME = 24
OPTIONAL = ("name", "alarms", "tags", "waits for")
"""Columns that are shown only if a run has a value."""
CUT_TO = {"task": 12, "method": 15, "alarms": 8, "waits for": 12, "name": 8, "tags": 8}
"""Columns that a narrow terminal cuts, and their least widths."""
LEFT_OUT = ("pseudo", "preset", "source", "epoch", "time", "tags", "name", "alarms", "seed")
"""Columns that a narrow terminal leaves out, in this order."""
TEXT_FIELDS = frozenset(
    {"id", "state", "method", "task", "preset", "name", "device", "host", "stage", "family", "label_hash"}
)
"""Fields that sort ascending by default."""


def list_(
    words: QueryWords = None,
    sort: Annotated[
        str,
        Option(metavar="FIELD", help="Such as created, acc, seed, task or time.", autocompletion=sort_fields),
    ] = "created",
    reverse: Annotated[bool, Option("--reverse", "-r", help="Reverse the order.")] = False,
    limit: Annotated[int, Option(min=1, help="Maximum number of rows.")] = 50,
    all_: Annotated[bool, Option("--all", "-a", help="Show all.")] = False,
    quiet: Annotated[bool, Option("--quiet", "-q", help="Print ids only, one per line.")] = False,
    json: Json = False,
    jsonl: Jsonl = False,
    runs_dir: RunsDir = RUNS,
) -> None:
    """List runs, newest first.

    With --sort, numbers are in descending and text in ascending order. A narrow terminal leaves out columns.

    Example: clarinet ls "method:clarinet task:M->U" --sort acc
    """
    from clarinet_tui.history.queries import SORT_ALIASES, count_runs, list_runs

    query, field = join_query(words), SORT_ALIASES.get(sort, sort)
    descending = (field not in TEXT_FIELDS) != reverse
    database = open_history(runs_dir)
    rows = list_runs(database, query, sort=field, descending=descending, limit=-1 if all_ else limit)
    with quiet_pipe():
        if json or jsonl:
            print_json_rows((asdict(row) for row in rows), lines=jsonl)
        elif quiet:
            print("".join(f"{row.id}\n" for row in rows), end="")
        else:
            _print_table(rows, query, runs_dir)
            _print_problems(rows)
    if len(rows) == limit and not all_ and (total := count_runs(database, query)) > limit:
        print(f"{limit} of {total} runs; --all lists all", file=sys.stderr)


def reindex(runs_dir: RunsDir = RUNS) -> None:
    """Rebuild the history from the run directories.

    Example: clarinet reindex
    """
    from rich.progress import Progress

    from clarinet_tui.history.reindex import reindex as rebuild

    if runs_dir.exists() and not runs_dir.is_dir():
        raise InputError(f"{runs_dir}: is not a directory")
    with Progress() as bar:
        task = bar.add_task("Reading journals", total=None)
        errors = rebuild(runs_dir, lambda done, total: bar.update(task, completed=done, total=total))
        open_history(runs_dir).close()  # states of runs without a final event follow from queue and processes
    for run_id, error in errors.items():
        warn(f"run {run_id} cannot be read: {error}")


def _print_table(rows: "list[RunRow]", query: str, runs_dir: Path) -> None:
    from rich.table import Table
    from rich.text import Text

    if not rows:
        first = shell_command("clarinet", "run", "--headless", "--preset", "smoke", runs_dir=runs_dir)
        print("No run matches." if query else f"No runs yet. Start one that takes seconds: {first}")
        return
    console = make_console()
    waits = _waiting_reasons(rows, runs_dir)
    cells = [{name: printable(cell) for name, cell in _cells(row, waits).items()} for row in rows]
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    widths = fit_columns(cells, console.width)
    for name, width in widths.items():
        justify: Any = "right" if name in NUMBERS else "left"
        table.add_column(name, justify=justify, no_wrap=True, overflow="ellipsis", width=width)
    for row_cells in cells:
        table.add_row(*(Text(row_cells[name]) for name in widths))
    console.print(table)


def fit_columns(cells: list[dict[str, str]], width: int) -> dict[str, int]:
    """Return the widths of the columns that fit; some are cut before others are left out."""
    from rich.cells import cell_len

    full = {name: max(cell_len(text) for text in (name, *(row[name] for row in cells))) for name in cells[0]}
    full = {name: size for name, size in full.items() if name not in OPTIONAL or any(row[name] for row in cells)}
    fitted = {name: min(size, CUT_TO.get(name, size)) for name, size in full.items()}
    for name in LEFT_OUT:
        if sum(fitted.values()) + len(fitted) > width:
            fitted.pop(name, None)
    spare = width - sum(fitted.values()) - len(fitted)
    for name in CUT_TO:
        if name in fitted and spare > 0:
            more = min(full[name] - fitted[name], spare)
            fitted[name], spare = fitted[name] + more, spare - more
    return fitted


def _print_problems(rows: "list[RunRow]") -> None:
    """Name what cannot be read in these runs."""
    damaged = [row for row in rows if row.problems]
    for row in damaged[:MAX_DAMAGED]:
        more = f" (and {len(row.problems) - 1} more)" if len(row.problems) > 1 else ""
        warn(f"run {row.id}: {row.problems[0]}{more}")
    if len(damaged) > MAX_DAMAGED:
        warn(f"{len(damaged) - MAX_DAMAGED} more runs have files that cannot be read: see `clarinet doctor`")


def _waiting_reasons(rows: "list[RunRow]", runs_dir: Path) -> dict[str, str]:
    """Return what queued runs wait for besides a device: a time, or other runs."""
    from clarinet_tui.queue.queue_file import read_all_queues
    from clarinet_tui.queue.scheduling import waiting_reason
    from clarinet_tui.runs.state import RunState

    if not any(row.state is RunState.QUEUED for row in rows):
        return {}
    queue = read_all_queues(runs_dir)
    reasons = {entry.id: waiting_reason(entry, queue, runs_dir) for entry in queue.waiting}
    return {run_id: reason for run_id, reason in reasons.items() if reason}


def _cells(row: "RunRow", waits: dict[str, str]) -> dict[str, str]:
    return {
        "id": row.id,
        "state": row.state,
        "method": row.method or "?",
        "task": row.task or "?",
        "seed": "?" if row.seed is None else str(row.seed),
        "preset": row.preset or "?",
        "name": shorten(row.name, MAX_NAME),
        "epoch": f"{row.epoch or 0}/{row.epochs_total}" if row.epochs_total else "",
        "target": _percent(row.target_accuracy),
        "source": _percent(row.source_accuracy),
        "pseudo": _percent(row.pseudo_label_accuracy),
        "time": "" if row.seconds is None else format_duration(row.seconds),
        "alarms": " ".join(row.alarms),
        "tags": " ".join(row.tags),
        "waits for": waits.get(row.id, ""),
    }


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
