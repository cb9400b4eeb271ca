"""`clarinet sql`: query the history with SQL."""

import sys
from itertools import islice
from typing import Annotated, Any

from typer import Argument, Option

from clarinet_tui.cli.completion import sql_names
from clarinet_tui.cli.lookup import open_history
from clarinet_tui.cli.options import RUNS, Json, Jsonl, RunsDir
from clarinet_tui.cli.output import make_console, print_json_rows, quiet_pipe
from clarinet_tui.history.database import Database
from clarinet_tui.history.sql import select
from clarinet_tui.runs.journal import encode_non_finite
from clarinet_tui.tables.table import Cell, Column, make_table
from clarinet_tui.tables.writers import to_rich, write_csv
from clarinet_tui.text import printable, shorten
from core.errors import InputError

MAX_ROWS, MAX_CELL = 1000, 60
"""Rows of a table, and characters of its cells."""


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
            _print_table(names, list(islice(objects, MAX_ROWS + 1)))


def _value(value: Any) -> Any:
    """Return a BLOB as SQLite writes it, and any other value as it is."""
    return f"x'{value.hex()}'" if isinstance(value, bytes) else value


def _print_table(names: list[str], rows: list[dict[str, Any]]) -> None:
    def make_cell(value: Any) -> Cell:
        return Cell("NULL", "faint") if value is None else Cell(shorten(printable(str(value)), MAX_CELL))

    columns = []
    for number, name in enumerate(names):
        types = {type(row[name]) for row in rows} - {type(None)}
        title = shorten(printable(name), MAX_CELL)
        columns.append(Column(title, right=bool(types) and types <= {int, float}, least=8, drop=number))
    console = make_console()
    view = to_rich(make_table(columns, (map(make_cell, row.values()) for row in rows[:MAX_ROWS])), console.width)
    console.print(view)
    if len(view.columns) < len(names):
        print(f"{len(view.columns)} of {len(names)} columns; --csv prints all", file=sys.stderr)
    if len(rows) > MAX_ROWS:
        print(f"the first {MAX_ROWS} rows; --csv prints all", file=sys.stderr)
