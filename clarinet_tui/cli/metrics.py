"""`clarinet metrics`: every number of a run, for other programs; and in short, for people."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from clarinet_tui.cli.completion import RunId, metric_names
from clarinet_tui.cli.open_history import find_row, open_history
from clarinet_tui.cli.options import RunsDir
from clarinet_tui.cli.output import quiet_pipe
from clarinet_tui.cli.places import RUNS
from core.errors import InputError

if TYPE_CHECKING:
    from clarinet_tui.history.database import Database

Level = Literal["iteration", "evaluation"]
PLACE = ("run", "iteration", "epoch", "adaptation_epoch", "stage", "seconds")
"""The first columns, whatever was measured."""


def metrics(
    id: RunId,  # noqa: A002
    json: Annotated[bool, typer.Option("--json", help="JSON lines: one object a line, as jq reads them.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Comma-separated values under a header row.")] = False,
    level: Annotated[
        Level | None, typer.Option(help="Evaluations, unless a metric of iterations is asked for.")
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this one; may be repeated.", autocompletion=metric_names),
    ] = None,
    start: Annotated[int | None, typer.Option(min=0, help="From this iteration on.")] = None,
    stop: Annotated[int | None, typer.Option(min=0, help="Before this iteration.")] = None,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Print a run's iterations or evaluations: all of them with --json or --csv, else in short.

    What is not a number is nan, inf or -inf, in JSON as text. What was not measured is left out of JSON, and empty in
    CSV.

    Example: clarinet metrics 6e3 --csv --metric complementary_loss --metric ascended > losses.csv
    """
    from clarinet_tui.cli import metrics_tables

    if json and csv:
        raise InputError("metrics: --json and --csv: say one of them")
    database = open_history(runs_dir)
    run = find_row(database, runs_dir, id).id
    level, names = choose(database, run, level, metric or [])
    with quiet_pipe():
        if json or csv:
            rows = measured(database, run, level, start, stop)
            columns = [*PLACE, *(["time"] if level == "evaluation" else []), *names]
            if csv:
                write_csv(rows, columns)
            else:
                write_json(rows, columns if metric or level == "iteration" else [*columns, "confusion"])
        elif level == "evaluation":
            metrics_tables.print_evaluations(list(measured(database, run, level, start, stop)), names)
        else:
            metrics_tables.print_summary(database, run, names, start, stop)


def choose(database: "Database", run: str, level: Level | None, asked: list[str]) -> tuple[Level, list[str]]:
    """The level, and the metrics of it that are asked for: all without a word."""
    from clarinet_tui.history.queries import list_metrics
    from core.metrics import level_of

    known = list_metrics(database, run)
    for name in asked:
        if name not in known:
            raise InputError(f"--metric: run {run} has no {name!a}; it has {', '.join(known) or 'none yet'}")
    levels = {name: level_of(name) for name in known}
    wanted = {levels[name] for name in asked} or {level or "evaluation"}
    if len(wanted) > 1:
        raise InputError("--metric: some are of iterations and some of evaluations: ask for them one after the other")
    (found,) = wanted
    if level and level != found:
        raise InputError(f"--metric: {asked[0]} is measured at every {found}: say --level {found}")
    return found, list(dict.fromkeys(asked)) or [name for name in known if levels[name] == found]


def measured(
    database: "Database", run: str, level: Level, start: int | None, stop: int | None
) -> Iterator[dict[str, Any]]:
    """In order and in bounded memory: of evaluations there are as many as epochs."""
    from clarinet_tui.history.queries import read_evaluations, read_iterations

    if level == "iteration":
        return read_iterations(database, run, start=start, stop=stop)
    return (
        row
        for row in read_evaluations(database, run)
        if (start is None or row["iteration"] >= start) and (stop is None or row["iteration"] < stop)
    )


def write_csv(rows: Iterator[dict[str, Any]], columns: list[str]) -> None:
    import csv

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([row.get(name) for name in columns])


def write_json(rows: Iterator[dict[str, Any]], columns: list[str]) -> None:
    import msgspec

    from clarinet_tui.worker.display import jsonable

    for row in rows:
        said = {name: row[name] for name in columns if row.get(name) is not None}
        sys.stdout.write(msgspec.json.encode(jsonable(said)).decode() + "\n")
