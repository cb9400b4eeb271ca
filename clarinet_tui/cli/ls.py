"""`clarinet ls`: list the runs of the history."""

import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated

from typer import Option

from clarinet_tui.cli.columns import Described, complete_columns, parse_columns, runs_table
from clarinet_tui.cli.completion import Items, sort_fields
from clarinet_tui.cli.lookup import open_history
from clarinet_tui.cli.options import RUNS, Json, Jsonl, QueryWords, RunsDir
from clarinet_tui.cli.output import print_json_rows, print_table, quiet_pipe, warn
from clarinet_tui.history.queries import SORT_ALIASES, RunRow, count_runs, list_runs
from clarinet_tui.queue.queue_file import read_all_queues
from clarinet_tui.queue.scheduling import waiting_reason
from clarinet_tui.runs.state import RunState
from clarinet_tui.tables.table import Column, Table
from clarinet_tui.text import format_count, format_duration, format_seed, format_task, shell_command, shorten
from core.errors import InputError

MAX_DAMAGED = 5
"""Runs with unreadable files that are named."""
MAX_NAME = 24
TEXT_FIELDS = frozenset(
    {"id", "state", "method", "task", "preset", "name", "device", "host", "stage", "family", "label_hash"}
)
"""Fields that sort ascending by default."""


def complete_ls_columns(incomplete: str) -> Items:
    return complete_columns(incomplete, (column for column, _ in _columns({})))


def list_(
    words: QueryWords = None,
    sort: Annotated[
        str,
        Option(metavar="FIELD", help="Such as created, acc, seed, time or a setting.", autocompletion=sort_fields),
    ] = "created",
    columns: Annotated[
        str,
        Option(
            metavar="NAMES",
            help="Columns and settings, separated by commas: id,classifier_rate,target.",
            autocompletion=complete_ls_columns,
        ),
    ] = "",
    reverse: Annotated[bool, Option("--reverse", "-r", help="Reverse the order.")] = False,
    limit: Annotated[int, Option(min=1, help="Maximum number of rows.")] = 50,
    all_: Annotated[bool, Option("--all", "-a", help="Show all.")] = False,
    best: Annotated[
        bool, Option("--best", help="Only runs of the best settings of each method and task, without target labels.")
    ] = False,
    oracle: Annotated[bool, Option("--oracle", help="With --best: choose by target accuracy.")] = False,
    quiet: Annotated[bool, Option("--quiet", "-q", help="Print ids only, one per line.")] = False,
    json: Json = False,
    jsonl: Jsonl = False,
    runs_dir: RunsDir = RUNS,
) -> None:
    """List runs, newest first.

    Settings that differ among the runs are columns. With --sort, numbers are in descending and text in ascending order.
    A narrow terminal leaves out columns. --best ranks settings by information on the target and held-out complementary
    risk at the last evaluation, as means over seeds.

    Example: clarinet ls "method:clarinet task:M->U" --sort acc
    """
    query, field = " ".join(words or ()), SORT_ALIASES.get(sort, sort)
    descending = (field not in TEXT_FIELDS) != reverse
    database = open_history(runs_dir)
    if oracle and not best:
        raise InputError("--oracle: only with --best")
    rows = list_runs(database, query, sort=field, descending=descending, limit=-1 if all_ or best else limit)
    if best:
        from clarinet_tui.analysis.choice import ORACLE_RULE, RULE, choose_variants

        choices = choose_variants(database, rows, oracle=oracle)
        chosen_ids = {run for choice in choices for run in choice.variant.ids}
        rows = [row for row in rows if row.id in chosen_ids]
        for choice in choices:
            counted = format_count(choice.candidates, "variant")
            print(f"{format_task(choice.variant.task)} {choice.name}: best of {counted}", file=sys.stderr)
        print(f"by {ORACLE_RULE if oracle else RULE}", file=sys.stderr)
    chosen = parse_columns(columns, (column for column, _ in _columns({})), rows)
    with quiet_pipe():
        if json or jsonl:
            print_json_rows((row.as_object() for row in rows), lines=jsonl)
        elif quiet:
            print("".join(f"{row.id}\n" for row in rows), end="")
        elif not rows:
            first = shell_command("clarinet", "run", "--headless", "--preset", "smoke", runs_dir=runs_dir)
            print("No run matches." if query else f"No runs yet. Start one that takes seconds: {first}")
        else:
            print_table(run_table(rows, _waiting_reasons(rows, runs_dir), chosen), gap=1)
            damaged = [row for row in rows if row.problems]
            for row in damaged[:MAX_DAMAGED]:
                more = f" (and {len(row.problems) - 1} more)" if len(row.problems) > 1 else ""
                warn(f"run {row.id}: {row.problems[0]}{more}")
            if len(damaged) > MAX_DAMAGED:
                warn(f"{len(damaged) - MAX_DAMAGED} more runs have files that cannot be read: see `clarinet doctor`")
    if len(rows) == limit and not all_ and (total := count_runs(database, query)) > limit:
        print(f"{limit} of {total} runs; --all lists all", file=sys.stderr)


def _waiting_reasons(rows: list[RunRow], runs_dir: Path) -> dict[str, str]:
    """Return what queued runs wait for besides a device: a time, or other runs."""
    if not any(row.state is RunState.QUEUED for row in rows):
        return {}
    try:
        queue = read_all_queues(runs_dir)
    except InputError as error:  # the runs are listed although the queue is damaged
        warn(str(error))
        return {}
    reasons = {entry.id: waiting_reason(entry, queue, runs_dir) for entry in queue.waiting}
    return {run_id: reason for run_id, reason in reasons.items() if reason}


def run_table(rows: Sequence[RunRow], waits: Mapping[str, str], chosen: Sequence[str] = ()) -> Table:
    """Describe the runs: in the chosen columns, or in those of interest and the settings that differ."""
    return runs_table(rows, _columns(waits), chosen, after="preset", on_request=2)


def _columns(waits: Mapping[str, str]) -> list[Described[RunRow]]:
    """Return all columns but those of settings; the last two only if they are chosen."""
    return [
        (Column("id"), lambda row: row.id),
        (Column("state"), lambda row: row.state),
        (Column("method", least=15, growth=5), lambda row: row.method or "?"),
        (Column("task", least=12, growth=6), lambda row: row.task or "?"),
        (Column("seed", drop=1), lambda row: format_seed(row.seed)),
        (Column("preset", drop=8), lambda row: row.preset or "?"),
        (Column("name", least=8, drop=3, growth=2, optional=True), lambda row: shorten(row.name, MAX_NAME)),
        (
            Column("epoch", right=True, drop=6),
            lambda row: f"{row.epoch or 0}/{row.epochs_total}" if row.epochs_total else "",
        ),
        (Column("target", right=True), lambda row: _percent(row.target_accuracy)),
        (Column("source", right=True, drop=7), lambda row: _percent(row.source_accuracy)),
        (Column("pseudo", right=True, drop=9), lambda row: _percent(row.pseudo_label_accuracy)),
        (Column("time", right=True, drop=5), lambda row: "" if row.seconds is None else format_duration(row.seconds)),
        (Column("alarms", least=8, drop=2, growth=4, optional=True), lambda row: " ".join(row.alarms)),
        (Column("tags", least=8, drop=4, optional=True), lambda row: " ".join(row.tags)),
        (Column("waits for", least=12, growth=3, optional=True), lambda row: waits.get(row.id)),
        (Column("created"), lambda row: f"{datetime.fromtimestamp(row.created):%F %R}"),
        (Column("host"), lambda row: row.host or ""),
    ]


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
