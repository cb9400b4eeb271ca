"""`clarinet export` and `clarinet import`: runs for other programs, and for other machines."""

import io
import json as json_
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from clarinet_tui.cli.open_history import open_history
from clarinet_tui.cli.options import Ids, Json, Query, RunsDir, chosen_runs
from clarinet_tui.cli.places import RUNS
from clarinet_tui.text import counted
from core.errors import InputError

if TYPE_CHECKING:
    from clarinet_tui.history.database import Database
    from clarinet_tui.runs.directory import RunDirectory

Level = Literal["run", "evaluation", "iteration"]
GB = 1 << 30
LISTS = {"tags": " ", "alarms": " ", "notes": "; "}
"""Fields of a run that hold several texts, and what stands between them in one cell."""


def export(
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="What to write: .csv, or .tar.gz for another machine.")
    ],
    ids: Ids = None,
    query: Query = None,
    all_: Annotated[bool, typer.Option("--all", "-a", help="All runs.")] = False,
    level: Annotated[Level | None, typer.Option(help="A line of CSV for each run, evaluation or iteration.")] = None,
    with_checkpoints: Annotated[
        bool, typer.Option("--with-checkpoints", help="Archive: so that runs can go on elsewhere.")
    ] = False,
    without_patches: Annotated[
        bool, typer.Option("--without-patches", help="Archive: leave uncommitted changes of your code out.")
    ] = False,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Write runs to one file: numbers as CSV, or whole run directories for `clarinet import`.

    Of a run that is going on, what it has said by now is written.

    Example: clarinet export --query "tag:icml state:finished" --out icml.tar.gz
    """
    suffixes = "".join(out.suffixes[-2:])
    runs = _chosen(runs_dir, ids, query, all_)
    if out.suffix == ".csv":
        if with_checkpoints or without_patches:
            raise InputError("--with-checkpoints, --without-patches: they are about archives; say --out FILE.tar.gz")
        count = _write_csv(runs, out, level or "run", runs_dir)
        print(f"Written: {out} ({counted(count, 'line')} of {counted(len(runs), 'run')})")
    elif suffixes.endswith((".tar.gz", ".tgz")):
        if level:
            raise InputError("--level: an archive has everything; say --out FILE.csv")
        _pack(runs, out, with_checkpoints, without_patches)
    else:
        raise InputError(f"--out: expected FILE.csv or FILE.tar.gz, got {out.name!a}")


def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE.tar.gz", help="What `clarinet export` wrote.")],
    max_gb: Annotated[float, typer.Option(min=0, help="Refuse an archive that holds more.")] = 20.0,
    max_files: Annotated[int, typer.Option(min=1, help="Refuse an archive that holds more.")] = 100_000,
    json: Json = False,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Take runs of another machine into the history here; nothing in the file is ever run.

    Everything is checked before anything is written. A run that is here already is left as it is.

    Example: clarinet import icml.tar.gz
    """
    from clarinet_tui.runs.archive_import import unpack
    from clarinet_tui.runs.archive_members import Limits

    brought = unpack(file, runs_dir, Limits(int(max_gb * GB), max_files))
    open_history(runs_dir).close()
    if json:
        print(json_.dumps({"imported": brought.new, "known": brought.known}, indent=2))
        return
    for run_id in brought.known:
        print(f"{run_id} is here already, with the same content")
    for run_id in brought.new:
        print(f"{run_id} imported")


def _chosen(runs_dir: Path, ids: list[str] | None, query: str | None, everything: bool) -> "list[RunDirectory]":
    from clarinet_tui.runs.directory import all_runs

    if not everything:
        return chosen_runs(runs_dir, ids, query)
    if ids or query:
        raise InputError("--all: is all runs; say ids or --query without it")
    runs = all_runs(runs_dir)
    if not runs:
        raise InputError(f"{runs_dir}: there are no runs")
    return runs


def _pack(runs: "list[RunDirectory]", out: Path, checkpoints: bool, without_patches: bool) -> None:
    from clarinet_tui.runs.archive import has_patch, pack

    pack(runs, out, checkpoints=checkpoints, patches=not without_patches)
    print(f"Written: {out} ({counted(len(runs), 'run')}, {out.stat().st_size / 1e6:.1f} MB)")
    if not without_patches and any(has_patch(run) for run in runs):
        told = "it holds uncommitted changes of your code; --without-patches leaves them out"
        print(f"clarinet: {told}", file=sys.stderr)


def _write_csv(runs: "list[RunDirectory]", out: Path, level: Level, runs_dir: Path) -> int:
    """Line by line, however many there are; the number of lines."""
    import csv

    from clarinet_tui.runs.atomic_files import replacing, told

    with open_history(runs_dir) as database, told(out), replacing(out) as file:
        columns, rows = _table(database, [run.id for run in runs], level)
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        count = 0
        for row in rows:
            writer.writerow([row.get(name) for name in columns])
            count += 1
        text.flush()
        text.detach()
    return count


def _table(database: "Database", ids: list[str], level: Level) -> tuple[list[str], Iterator[dict[str, Any]]]:
    """The columns, which all the runs share, and the rows."""
    from clarinet_tui.cli.metrics import PLACE, choose, measured
    from clarinet_tui.history.queries import RunRow

    if level == "run":
        from clarinet_tui.evidence.selections import COLUMNS

        return [*RunRow.__dataclass_fields__, *COLUMNS], _runs(database, ids)
    names = dict.fromkeys(name for one in ids for name in choose(database, one, level, [])[1])
    columns = [*PLACE, *(["time"] if level == "evaluation" else []), *names]
    return columns, (row for one in ids for row in measured(database, one, level, None, None))


def _runs(database: "Database", ids: list[str]) -> Iterator[dict[str, Any]]:
    from dataclasses import asdict

    from clarinet_tui.evidence.selection import last_stage, select_all
    from clarinet_tui.evidence.selections import flat_selections, selections
    from clarinet_tui.history.queries import evaluations, get_run

    for one in ids:
        if row := get_run(database, one):
            said = asdict(row)
            said |= {name: between.join(said[name]) for name, between in LISTS.items()}
            chosen = select_all(evaluations(database, one), stage=last_stage(row.method))
            yield said | flat_selections(selections([chosen]))
