"""`clarinet metrics` and `clarinet sql`: the metrics of a run, or a query, as a table or for other programs."""

import math
import sys
from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Any, Literal

from typer import Argument, Option

from clarinet_tui.cli.completion import metric_names, sql_names
from clarinet_tui.cli.lookup import find_row, open_history
from clarinet_tui.cli.options import RUNS, Json, Jsonl, RunId, RunsDir
from clarinet_tui.cli.output import make_console, print_json_rows, print_table, quiet_pipe
from clarinet_tui.history.curves import list_metrics
from clarinet_tui.history.database import Database
from clarinet_tui.history.queries import ITERATION_KEYS, RECENT, read_evaluations, read_iterations, summarize_metric
from clarinet_tui.history.sql import select
from clarinet_tui.runs.journal import encode_non_finite
from clarinet_tui.tables.table import Cell, Column, make_table
from clarinet_tui.tables.writers import to_rich, write_csv
from clarinet_tui.text import format_number, printable, shorten
from core.errors import InputError
from core.metrics import level_of

Level = Literal["iteration", "evaluation"]
MAX_ROWS = 20
MAX_QUERY_ROWS, MAX_CELL = 1000, 60
"""Rows of the table of a query, and characters of its cells."""


def metrics(
    id: RunId,  # noqa: A002
    json: Json = False,
    jsonl: Jsonl = False,
    csv: Annotated[bool, Option("--csv", help="CSV with a header row.")] = False,
    level: Annotated[Level | None, Option(help="Rows to print; default: evaluation, or the level of --metric.")] = None,
    metric: Annotated[
        list[str] | None, Option(metavar="NAME", help="Only this metric; repeatable.", autocompletion=metric_names)
    ] = None,
    start: Annotated[int | None, Option(min=0, help="First iteration.")] = None,
    stop: Annotated[int | None, Option(min=0, help="Iteration to stop before.")] = None,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Print the metrics of a run as a table, CSV or JSON.

    The table has the last evaluations, or a summary of each iteration metric; the other formats have every row. Values
    that are not finite are nan, inf or -inf, as strings in JSON. Missing values are left out of JSON and empty in CSV.

    Example: clarinet metrics 6e3 --csv --metric complementary_loss --metric ascended > losses.csv
    """
    if json + jsonl + csv > 1:
        raise InputError("metrics: --json, --jsonl and --csv exclude each other")
    database = open_history(runs_dir)
    run_id = find_row(database, runs_dir, id).id
    level, names = choose_metrics(database, run_id, level, metric or [])
    rows = read_rows(database, run_id, level, start, stop)
    with quiet_pipe():
        if csv:
            write_csv(sys.stdout, columns(level, names), rows)
        elif json or jsonl:
            keys = columns(level, names) + (["confusion"] if level == "evaluation" and not metric else [])
            objects = ({key: row[key] for key in keys if row.get(key) is not None} for row in rows)
            print_json_rows(map(encode_non_finite, objects), lines=jsonl)
        elif level == "evaluation":
            found, cells = list(rows), []
            for row in found[-MAX_ROWS:]:
                values = (_format(row.get(name), name) for name in names)
                cells.append([_format(row["epoch"]), str(row["iteration"]), row["stage"], *values])
            _print_table(["epoch", "iteration", "stage", *names], cells, "No evaluations yet.")
            if len(found) > MAX_ROWS:
                print(f"The last {MAX_ROWS} of {len(found)} evaluations; --csv and --json print all.")
        else:
            titles = ["metric", "last", f"mean of last {RECENT}", "min", "max", "not finite"]
            cells = []
            for name in names:
                if summary := summarize_metric(database, run_id, name, start=start, stop=stop):
                    numbers = map(_format, (summary.last, summary.mean, summary.minimum, summary.maximum))
                    cells.append([name, *numbers, str(summary.missing or "")])
            _print_table(titles, cells, "No iterations yet.")


def columns(level: Level, names: list[str]) -> list[str]:
    return [*ITERATION_KEYS, *(["time"] if level == "evaluation" else []), *names]


def choose_metrics(
    database: Database, run_id: str, level: Level | None, requested: list[str]
) -> tuple[Level, list[str]]:
    """Return the level and its metrics that are requested, or all of them."""
    known = list_metrics(database, run_id)
    for name in requested:
        if name not in known:
            raise InputError(f"--metric: run {run_id} has no {name!a}; it has {', '.join(known) or 'none yet'}")
    only, *others = {level_of(name) for name in requested} or {level or "evaluation"}
    if others:
        raise InputError("--metric: iteration and evaluation metrics cannot be printed together")
    if level and level != only:
        raise InputError(f"--metric: {requested[0]} is an {only} metric; use --level {only}")
    return only, list(dict.fromkeys(requested)) or [name for name in known if level_of(name) == only]


def read_rows(
    database: Database, run_id: str, level: Level, start: int | None, stop: int | None
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a level in order; iterations are read in bounded memory."""
    if level == "iteration":
        return read_iterations(database, run_id, start=start, stop=stop)
    return (
        row
        for row in read_evaluations(database, run_id)
        if (start is None or row["iteration"] >= start) and (stop is None or row["iteration"] < stop)
    )


def _format(value: float | None, name: str = "") -> str:
    if value is None:
        return "–"
    if name.endswith("_accuracy") and math.isfinite(value):
        return f"{value:.2f}"
    return str(value) if isinstance(value, int) else format_number(value)


def _print_table(titles: list[str], cells: list[list[str]], if_empty: str) -> None:
    if not cells:
        print(if_empty)
        return
    columns = (Column(title.replace("_", " "), right=title not in ("metric", "stage")) for title in titles)
    print_table(make_table(columns, cells))


def sql(
    statement: Annotated[str, Argument(metavar="SQL", help="A SELECT statement.", autocompletion=sql_names)],
    csv: Annotated[bool, Option("--csv", help="Print CSV.")] = False,
    json: Json = False,
    jsonl: Jsonl = False,
    timeout: Annotated[float, Option(min=0.001, help="Longest time of the query in seconds.")] = 30.0,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Query the history with SQL, read-only.

    The reference describes the tables. A table on the terminal has the first 1000 rows and cuts long values; --csv,
    --json and --jsonl print everything. A BLOB is printed as its hexadecimal literal.

    Example: clarinet sql "select method, task, avg(target_accuracy) from runs where state = 'finished' group by 1, 2"
    """
    if csv + json + jsonl > 1:
        raise InputError("expected one of --csv, --json and --jsonl")
    database = open_history(runs_dir)
    if database.path.exists():  # otherwise there are no runs, and it is in memory
        database.close()
        database = Database.open_read_only(runs_dir, database.path)
    with database, quiet_pipe():
        names, rows = select(database, statement, timeout)
        objects = (dict(zip(names, map(_value, row), strict=True)) for row in rows)
        if csv:
            write_csv(sys.stdout, names, objects)
        elif json or jsonl:
            print_json_rows(map(encode_non_finite, objects), lines=jsonl)
        else:
            _print_query(names, list(islice(objects, MAX_QUERY_ROWS + 1)))


def _value(value: Any) -> Any:
    """Return a BLOB as SQLite writes it, and any other value as it is."""
    return f"x'{value.hex()}'" if isinstance(value, bytes) else value


def _print_query(names: list[str], rows: list[dict[str, Any]]) -> None:
    def make_cell(value: Any) -> Cell:
        return Cell("NULL", "faint") if value is None else Cell(shorten(printable(str(value)), MAX_CELL))

    columns = []
    for number, name in enumerate(names):
        types = {type(row[name]) for row in rows} - {type(None)}
        title = shorten(printable(name), MAX_CELL)
        columns.append(Column(title, right=bool(types) and types <= {int, float}, least=8, drop=number))
    console = make_console()
    view = to_rich(make_table(columns, (map(make_cell, row.values()) for row in rows[:MAX_QUERY_ROWS])), console.width)
    console.print(view)
    if len(view.columns) < len(names):
        print(f"{len(view.columns)} of {len(names)} columns; --csv prints all", file=sys.stderr)
    if len(rows) > MAX_QUERY_ROWS:
        print(f"the first {MAX_QUERY_ROWS} rows; --csv prints all", file=sys.stderr)
