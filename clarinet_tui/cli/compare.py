"""`clarinet compare`: compare runs by id, or one-step with two-step methods by query."""

import shlex
from typing import Annotated

from typer import Option

from clarinet_tui.analysis.comparison import (
    DEFAULT_DESCRIPTION,
    NOTHING,
    compare_queries,
    compare_runs,
    default_queries,
)
from clarinet_tui.analysis.comparison_table import comparison_object, comparison_view
from clarinet_tui.cli.completion import queries as complete_queries
from clarinet_tui.cli.lookup import open_records
from clarinet_tui.cli.options import RUNS, Ids, Json, RunsDir, Select
from clarinet_tui.cli.output import make_console, print_json, quiet_pipe, warn
from core.errors import InputError


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
        comparison = compare_runs(records, ids, rule=select)
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
