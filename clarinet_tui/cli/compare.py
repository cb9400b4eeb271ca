"""`clarinet compare` and `clarinet diff`: results over paired seeds, and the settings of two runs."""

import shlex
from dataclasses import asdict
from itertools import groupby
from json import dumps as json_text
from operator import attrgetter
from typing import Annotated

from typer import Argument, Option

from clarinet_tui.analysis.comparison import (
    DEFAULT_DESCRIPTION,
    NOTHING,
    compare_queries,
    compare_runs,
    default_queries,
)
from clarinet_tui.analysis.comparison_table import comparison_object, comparison_view
from clarinet_tui.analysis.run_diff import diff_runs
from clarinet_tui.cli.completion import queries as complete_queries
from clarinet_tui.cli.completion import run_ids
from clarinet_tui.cli.lookup import find_run, find_runs, open_records
from clarinet_tui.cli.options import ONE_RUN, RUNS, Ids, Json, RunsDir, Select
from clarinet_tui.cli.output import make_console, print_json, quiet_pipe, warn
from clarinet_tui.text import printable, shorten
from core.errors import InputError

MAX_VALUE = 400
"""Characters of a setting that differs."""


def compare(
    ids: Ids = None,
    one_step: Annotated[
        str | None, Option(help="Query for one-step runs, such as method:clarinet.", autocompletion=complete_queries)
    ] = None,
    two_step: Annotated[
        str | None, Option(help='Query for two-step runs, such as "method:gac+*".', autocompletion=complete_queries)
    ] = None,
    select: Select = "last",
    json: Json = False,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Compare runs or methods over paired seeds.

    Prints means over seeds, paired differences with confidence intervals and tests, cost and differing settings.
    Without arguments, it compares the runs of the newest task that has both families, as the app does.

    Example: clarinet compare --one-step method:clarinet --two-step "method:gac+*"
    """
    if ids and (one_step is not None or two_step is not None):
        raise InputError("compare: expected either run ids, or --one-step and --two-step")
    if (one_step is None) != (two_step is None):
        raise InputError("compare: expected both --one-step QUERY and --two-step QUERY, or neither")
    records = open_records(runs_dir)
    if ids:
        comparison = compare_runs(records, [run.id for run in find_runs(runs_dir, ids)], rule=select)
    else:
        if one_step is None or two_step is None:
            queries = default_queries(records.db)
            if queries is None:
                raise InputError(f"compare: {NOTHING[0].lower()}{NOTHING[1:].rstrip('.')}")
            one_step, two_step = queries
            warn(f"{DEFAULT_DESCRIPTION}: --one-step {shlex.quote(one_step)} --two-step {shlex.quote(two_step)}")
        comparison = compare_queries(records, one_step, two_step, rule=select)
    with quiet_pipe():
        if json:
            print_json(comparison_object(comparison))
        else:
            make_console(100).print(comparison_view(comparison, named=bool(ids)))


def diff(
    first: Annotated[str, Argument(metavar="A", help=ONE_RUN, autocompletion=run_ids)],
    second: Annotated[str, Argument(metavar="B", help="The run to compare it with.", autocompletion=run_ids)],
    json: Json = False,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Show how settings, data, environment and code of two runs differ.

    Lines with - are those of A, lines with + those of B. Only what differs is printed.

    Example: clarinet diff 6e3 6f1
    """
    from rich.text import Text

    runs = find_run(runs_dir, first), find_run(runs_dir, second)
    differences, patch = diff_runs(*runs)
    with quiet_pipe():
        if json:
            objects = [asdict(difference) for difference in differences]
            print_json({"first": runs[0].id, "second": runs[1].id, "differences": objects, "patch": patch})
            return
        lines = [f"--- {runs[0].id}", f"+++ {runs[1].id}"]
        for group, same in groupby(differences, key=attrgetter("group")):
            lines.append(f"@@ {group} @@")
            for difference in same:
                for sign, value in (("-", difference.first), ("+", difference.second)):
                    if value is not None:
                        text = json_text(value, ensure_ascii=False, default=str)
                        lines.append(f"{sign}{difference.name} = {shorten(text, MAX_VALUE)}")
        if patch:
            lines += ["@@ uncommitted changes @@", *patch[2:]]
        if len(lines) == 2:
            lines = [f"{runs[0].id} and {runs[1].id} have the same settings, data, environment and code."]
        console, styles = make_console(), {"-": "red", "+": "green", "@": "cyan"}
        for line in lines:
            console.print(Text(printable(line), style=styles.get(line[:1], "")), soft_wrap=True)
