"""`clarinet compare`: runs by their ids, or all one-step methods against all two-step ones."""

import json as json_
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clarinet_tui.cli.completion import queries, run_ids
from clarinet_tui.cli.options import Json, RunsDir
from clarinet_tui.cli.output import quiet_pipe
from clarinet_tui.cli.places import RUNS
from clarinet_tui.cli.table import WIDE, Select, archive
from core.errors import InputError

if TYPE_CHECKING:
    from clarinet_tui.evidence.comparison import Comparison


def compare(
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ID…]", help="Two runs or more: their ids, or their beginnings.", autocompletion=run_ids
        ),
    ] = None,
    one_step: Annotated[
        str | None,
        typer.Option("--one-step", help="A query for the left side, such as method:clarinet.", autocompletion=queries),
    ] = None,
    two_step: Annotated[
        str | None,
        typer.Option("--two-step", help="A query for the right side, such as preset:quick.", autocompletion=queries),
    ] = None,
    select: Annotated[
        Select, typer.Option(help="Which epoch counts; best looks at target labels and is marked.")
    ] = Select.LAST,
    json: Json = False,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Compare runs: means over seeds, differences of pairs with their intervals and tests, cost, settings.

    Example: clarinet compare --one-step method:clarinet --two-step "method:gac+*"
    """
    comparison = _compared(ids or [], one_step, two_step, select, runs_dir)
    with quiet_pipe():
        if json:
            from clarinet_tui.evidence.terminal.comparison import comparison_object

            print(json_.dumps(comparison_object(comparison), indent=2))
        else:
            _show(comparison, named=bool(ids))


def _compared(
    ids: list[str], one_step: str | None, two_step: str | None, select: Select, runs_dir: Path
) -> "Comparison":
    from clarinet_tui.evidence.comparison import compare_queries, compare_runs

    if ids and (one_step is not None or two_step is not None):
        raise InputError("compare: name runs by their ids, or by --one-step and --two-step, not both")
    if ids:
        return compare_runs(archive(runs_dir), ids, rule=select.value)
    if one_step is None or two_step is None:
        raise InputError("compare: say which runs: ids, or --one-step QUERY and --two-step QUERY")
    return compare_queries(archive(runs_dir), one_step, two_step, rule=select.value)


def _show(comparison: "Comparison", *, named: bool) -> None:
    from rich.console import Console

    from clarinet_tui.evidence.terminal.comparison import comparison_view

    console = Console(highlight=False, width=None if sys.stdout.isatty() else WIDE)
    console.print(comparison_view(comparison, named=named))
