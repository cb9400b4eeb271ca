"""Arguments and options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

from clarinet_tui.cli.completion import preset_names, queries, run_ids, setting_names
from clarinet_tui.evidence.choices import Rule

RUNS, DATA = Path("runs"), Path("data")

RunsDir = Annotated[Path, typer.Option("--runs-dir", envvar="CLARINET_RUNS", help="Directory of the runs.")]
DataDir = Annotated[Path, typer.Option("--data-dir", envvar="CLARINET_DATA", help="Directory of the data sets.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
RunId = Annotated[str, typer.Argument(metavar="ID", help="Run id or unique prefix.", autocompletion=run_ids)]
RunIds = Annotated[list[str], typer.Argument(metavar="ID", help="Run ids or unique prefixes.", autocompletion=run_ids)]
Ids = Annotated[
    list[str] | None, typer.Argument(metavar="ID", help="Run ids or unique prefixes.", autocompletion=run_ids)
]
Query = Annotated[
    str | None,
    typer.Option("--query", "-q", help="All runs that match, for example: tag:old acc<50", autocompletion=queries),
]
QueryArgument = Annotated[
    str, typer.Argument(metavar="QUERY", help="For example: tag:icml method:clarinet", autocompletion=queries)
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Any other setting; repeatable.", autocompletion=setting_names),
]
Select = Annotated[
    Rule, typer.Option(help="Which epoch to report; best uses target labels and is marked as oracle selection.")
]
PresetFilter = Annotated[
    str | None,
    typer.Option(
        "--preset", help="Only runs of this preset; default: that of most finished runs.", autocompletion=preset_names
    ),
]
OnAlarm = Annotated[
    str | None,
    typer.Option(
        "--on-alarm", metavar="COMMAND", help="Run COMMAND on each alarm, without a shell; see CLARINET_ALARM."
    ),
]


def alarm_command(text: str | None) -> tuple[str, ...]:
    """Return the words of an --on-alarm command; none without the option."""
    from clarinet_tui.worker.alarm_hook import parse_hook_command

    return () if text is None else parse_hook_command(text)
