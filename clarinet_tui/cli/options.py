"""Arguments and options that several commands share."""

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

from typer import Argument, Option

from clarinet_tui.analysis.choices import Rule
from clarinet_tui.cli.completion import preset_names, queries, run_ids, setting_names
from clarinet_tui.place import PlaceName

RUNS, DATA = Path("runs"), Path("data")
ONE_RUN = "Id, unique prefix, last, last-2 or name of a run."
RUN_WORDS = "Ids, unique prefixes, last or names of runs, or a query such as method:basset."

RunsDir = Annotated[Path, Option("--runs-dir", envvar="CLARINET_RUNS", help="Directory of the runs.")]
DataDir = Annotated[Path, Option("--data-dir", envvar="CLARINET_DATA", help="Directory of the data sets.")]
Json = Annotated[bool, Option("--json", help="Print JSON; a listing is one array.")]
Jsonl = Annotated[bool, Option("--jsonl", help="Print JSON lines: one object a line.")]
RunId = Annotated[str, Argument(metavar="ID", help=ONE_RUN, autocompletion=run_ids)]
RunIds = Annotated[list[str], Argument(metavar="ID", help=RUN_WORDS, autocompletion=run_ids)]
Ids = Annotated[list[str] | None, Argument(metavar="ID", help=RUN_WORDS, autocompletion=run_ids)]
Query = Annotated[
    str | None, Option("--query", "-q", help="All runs that match, for example: tag:old acc<50", autocompletion=queries)
]
QueryWords = Annotated[
    list[str] | None, Argument(metavar="QUERY", help="For example: tag:icml method:clarinet", autocompletion=queries)
]
Settings = Annotated[
    list[str] | None,
    Option("--set", metavar="KEY=VALUE", help="Any other setting; repeatable.", autocompletion=setting_names),
]
Select = Annotated[
    Rule, Option(help="Which epoch to report; best uses target labels and is marked as oracle selection.")
]
Pictures = Annotated[bool, Option("--pictures/--no-pictures", help="Show pictures in the terminal.")]
Blocks = Annotated[bool, Option("--blocks", help="Draw with characters even where the terminal shows pixels.")]
PresetFilter = Annotated[
    str | None,
    Option(
        "--preset", help="Only runs of this preset; default: that of most finished runs.", autocompletion=preset_names
    ),
]
On = Annotated[PlaceName | None, Option("--on", envvar="CLARINET_ON", help="Where to train; default: local.")]
SlurmPairs = Annotated[
    list[str] | None, Option("--slurm", metavar="KEY=VALUE", help="Any option of sbatch, or setup=LINE; repeatable.")
]


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command for Typer: each field of its last parameter, if that is a dataclass, becomes an option.

    The command stays an ordinary function, so that types of calls are checked; Typer reads only signatures.
    """
    *parameters, last = inspect.signature(command).parameters.values()
    group = last.annotation
    if not (isinstance(group, type) and is_dataclass(group)):
        return command
    types = get_type_hints(group, include_extras=True)
    for field in fields(group):
        kind, annotation = inspect.Parameter.KEYWORD_ONLY, types[field.name]
        parameters.append(inspect.Parameter(field.name, kind, default=field.default, annotation=annotation))

    @wraps(command)
    def grouped(**values: Any) -> None:
        options = {field.name: values.pop(field.name) for field in fields(group)}
        command(**values, **{last.name: group(**options)})

    grouped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return grouped
