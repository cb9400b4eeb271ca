"""Arguments and options that several commands share."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from clarinet_tui.cli.completion import preset_names, queries, run_ids, setting_names
from clarinet_tui.evidence.choices import Rule
from clarinet_tui.slurm.place import Place
from core.errors import InputError

if TYPE_CHECKING:
    from clarinet_tui.slurm.options import SlurmOptions

RUNS, DATA = Path("runs"), Path("data")

RunsDir = Annotated[Path, Option("--runs-dir", envvar="CLARINET_RUNS", help="Directory of the runs.")]
DataDir = Annotated[Path, Option("--data-dir", envvar="CLARINET_DATA", help="Directory of the data sets.")]
Json = Annotated[bool, Option("--json", help="Print JSON; a listing is one array.")]
Jsonl = Annotated[bool, Option("--jsonl", help="Print JSON lines: one object a line.")]
RunId = Annotated[str, Argument(metavar="ID", help="Run id or unique prefix.", autocompletion=run_ids)]
RunIds = Annotated[list[str], Argument(metavar="ID", help="Run ids or unique prefixes.", autocompletion=run_ids)]
Ids = Annotated[list[str] | None, Argument(metavar="ID", help="Run ids or unique prefixes.", autocompletion=run_ids)]
Query = Annotated[
    str | None,
    Option("--query", "-q", help="All runs that match, for example: tag:old acc<50", autocompletion=queries),
]
QueryArgument = Annotated[
    str, Argument(metavar="QUERY", help="For example: tag:icml method:clarinet", autocompletion=queries)
]
Settings = Annotated[
    list[str] | None,
    Option("--set", metavar="KEY=VALUE", help="Any other setting; repeatable.", autocompletion=setting_names),
]
Select = Annotated[
    Rule, Option(help="Which epoch to report; best uses target labels and is marked as oracle selection.")
]
PresetFilter = Annotated[
    str | None,
    Option(
        "--preset", help="Only runs of this preset; default: that of most finished runs.", autocompletion=preset_names
    ),
]
On = Annotated[Place | None, Option("--on", envvar="CLARINET_ON", help="Where to train; default: local.")]
SlurmPairs = Annotated[
    list[str] | None, Option("--slurm", metavar="KEY=VALUE", help="Any option of sbatch, or setup=LINE; repeatable.")
]
Preset = Annotated[str | None, Option(help="paper, literal, quick, smoke or photographs.", autocompletion=preset_names)]
Epochs = Annotated[int | None, Option(help="Adaptation epochs.")]
OnAlarm = Annotated[
    str | None,
    Option("--on-alarm", metavar="COMMAND", help="Run COMMAND on each alarm, without a shell; see CLARINET_ALARM."),
]
OnEnd = Annotated[
    str | None,
    Option("--on-end", metavar="COMMAND", help="Run COMMAND at the end, without a shell; see CLARINET_STATE."),
]
NotBefore = Annotated[
    str | None, Option(metavar="TIME", help='Start at 22:00, "2026-11-18 22:00" or in 2h at the earliest.')
]
After = Annotated[
    list[str] | None,
    Option(metavar="ID", help="Start when this run has finished; repeatable.", autocompletion=run_ids),
]
TimeLimit = Annotated[str | None, Option(metavar="TIME", help="Save and stop after 90m, 2h30m or 1d of an attempt.")]


def alarm_command(text: str | None) -> tuple[str, ...]:
    """Return the arguments of an --on-alarm command; none without the option."""
    from clarinet_tui.worker.event_hook import parse_hook_command

    return () if text is None else parse_hook_command(text)


def start_options(
    runs_dir: Path, on_end: str | None, not_before: str | None, after: list[str] | None, time_limit: str | None
) -> dict[str, Any]:
    """Return the fields of LaunchOptions for the end of a run and for when it may start."""
    from clarinet_tui.queue.start_conditions import parse_duration, parse_start_time
    from clarinet_tui.runs.directory import find_run
    from clarinet_tui.worker.event_hook import ON_END, parse_hook_command

    return {
        "on_end": () if on_end is None else parse_hook_command(on_end, option=ON_END),
        "not_before": 0.0 if not_before is None else parse_start_time(not_before, "--not-before"),
        "after": tuple(find_run(runs_dir, prefix).id for prefix in after or []),
        "time_limit": 0.0 if time_limit is None else parse_duration(time_limit, "--time-limit"),
    }


def refuse_on_slurm(chosen: Mapping[str, Any]) -> None:
    """Raise InputError for options that Slurm has itself."""
    own = {
        "not_before": "--slurm begin=TIME",
        "after": "--slurm dependency=afterok:JOB",
        "time_limit": "--slurm time=LIMIT",
    }
    for name, option in own.items():
        if chosen[name]:
            raise InputError(f"--{name.replace('_', '-')}: is not for Slurm jobs: use {option}")


def slurm_options(
    on: Place | None, pairs: list[str] | None, file: dict[str, Any] | None = None, place: str = ""
) -> "SlurmOptions | None":
    """Return the options of Slurm jobs, of which the command line overrides the file; None for this machine.

    `on` and `slurm` are taken out of the file.
    """
    from clarinet_tui.slurm.options import parse_pairs, parse_table
    from core.validation import format_value

    settings = {} if file is None else file
    named, table = settings.pop("on", None), settings.pop("slurm", {})
    if named is not None and named not in list(Place):
        raise InputError(f"{place}: on: expected local or slurm, got {format_value(named)}")
    if not isinstance(table, dict):
        raise InputError(f"{place}: slurm: expected a table, got {format_value(table)}")
    base = parse_table(table, f"{place}: slurm")
    if (on or named or Place.LOCAL) == Place.LOCAL:
        if pairs:
            raise InputError("--slurm: needs --on slurm")
        return None
    return parse_pairs(pairs or [], base=base)
