"""`clarinet export`, `import`, `backup` and `restore`: runs for other programs and other machines, and their copy."""

import io
import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Argument, Option

from clarinet_tui.analysis.selection import RULE_COLUMNS, last_stage, rule_columns, select_epochs, summarise_rules
from clarinet_tui.cli.lookup import find_row, open_history, select_runs
from clarinet_tui.cli.metrics import choose_metrics, columns, read_rows
from clarinet_tui.cli.options import RUNS, Ids, Json, Query, RunsDir
from clarinet_tui.cli.output import print_json, warn
from clarinet_tui.history.database import Database
from clarinet_tui.history.queries import get_run, own_keys, read_evaluations, run_keys
from clarinet_tui.history.states import update_history
from clarinet_tui.runs.archive import Limits, has_patch, import_archive, write_archive
from clarinet_tui.runs.directory import RunDirectory, list_run_ids, list_runs
from clarinet_tui.runs.files import USER_FILE, as_input_error
from clarinet_tui.tables.writers import write_csv
from clarinet_tui.text import format_count
from core.errors import InputError
from core.files import atomic_writer

Level = Literal["run", "evaluation", "iteration"]
FOLLOW_INTERVAL = 2.0
"""Seconds between the reads of runs that are followed."""
SEPARATORS = {"tags": " ", "alarms": " ", "notes": "; "}
"""Fields of a run that are lists, and the separator of their items in a CSV cell."""


def export(
    out: Annotated[
        Path, Option("--out", "-o", metavar="FILE", help="A .csv, a .tar.gz for another machine, or a directory.")
    ],
    ids: Ids = None,
    query: Query = None,
    all_: Annotated[bool, Option("--all", "-a", help="All runs.")] = False,
    level: Annotated[Level | None, Option(help="CSV: one row per run, evaluation or iteration.")] = None,
    with_checkpoints: Annotated[
        bool, Option("--with-checkpoints", help="Archive: include checkpoints, so that runs can be resumed.")
    ] = False,
    without_patches: Annotated[
        bool, Option("--without-patches", help="Archive: leave out uncommitted changes of your code.")
    ] = False,
    format_: Annotated[
        Literal["tensorboard"] | None, Option("--format", help="tensorboard: event files in the directory --out.")
    ] = None,
    follow: Annotated[bool, Option("--follow", "-f", help="tensorboard: write on until the runs have ended.")] = False,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Export runs as CSV, for TensorBoard, or for another machine.

    Of a running run, everything recorded so far is exported. `clarinet import` reads archives.

    Example: clarinet export --query "tag:icml state:finished" --out icml.tar.gz
    """
    is_csv, is_archive = out.suffix == ".csv", out.name.endswith((".tar.gz", ".tgz"))
    has_archive_options = with_checkpoints or without_patches
    if follow and format_ is None:
        raise InputError("--follow: only for --format tensorboard")
    if format_ and (level or has_archive_options):
        raise InputError("--format tensorboard: takes no --level and no options of archives")
    if is_csv and not format_ and has_archive_options:
        raise InputError("--with-checkpoints, --without-patches: only for archives; use --out FILE.tar.gz")
    if level and not is_csv:
        raise InputError("--level: only for CSV; use --out FILE.csv")
    if all_ and (ids or query):
        raise InputError("--all: takes no ids and no --query")
    runs = _all_runs(runs_dir) if all_ else select_runs(runs_dir, ids, query)
    if format_:
        export_tensorboard(runs, out, runs_dir, follow=follow)
    elif is_csv:
        _write_csv(runs, out, level or "run", runs_dir)
    elif is_archive:
        _write_archive(runs, out, checkpoints=with_checkpoints, patches=not without_patches)
        if not without_patches and any(has_patch(run) for run in runs):
            warn("the archive has uncommitted changes of your code; --without-patches leaves them out")
    else:
        raise InputError(f"--out: expected FILE.csv or FILE.tar.gz, got {out.name!a}")


def import_(
    file: Annotated[Path, Argument(metavar="FILE.tar.gz", help="Archive written by `clarinet export`.")],
    max_gb: Annotated[float, Option(min=0, help="Largest total size of an archive's files in GB.")] = 20.0,
    max_files: Annotated[int, Option(min=1, help="Largest number of files in an archive.")] = 100_000,
    json: Json = False,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Import an archive of runs from another machine.

    The whole archive is checked before anything is written, and nothing in it is executed. Existing runs are not
    changed.

    Example: clarinet import icml.tar.gz
    """
    imported = import_archive(file, runs_dir, Limits(int(max_gb * (1 << 30)), max_files))
    open_history(runs_dir).close()
    if json:
        print_json({"imported": imported.new, "known": imported.existing})
        return
    for run_id in imported.existing:
        print(f"{run_id} exists already with the same content")
    for run_id in imported.new:
        print(f"{run_id} imported")


def backup(
    file: Annotated[Path, Argument(metavar="FILE.tar.gz", help="Archive to write; replaced when it is complete.")],
    runs_dir: RunsDir = RUNS,
) -> None:
    """Write a consistent copy of all runs, also while they train.

    The archive has everything that runs have recorded, with their checkpoints. Of a running run it has the journal up
    to a complete line that is not before its checkpoint. The history is not in it: it is rebuilt from the journals.

    Example: clarinet backup /media/disk/runs.tar.gz
    """
    _write_archive(_all_runs(runs_dir), file, checkpoints=True)


def restore(
    file: Annotated[Path, Argument(metavar="FILE.tar.gz", help="Archive written by `clarinet backup`.")],
    max_gb: Annotated[float, Option(min=0, help="Largest total size of the archive's files in GB.")] = 1000.0,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Restore a backup; runs that exist with the same content are kept.

    The whole archive is checked before anything is written. Runs that were waiting or training can be queued again
    with `clarinet resume`.

    Example: clarinet restore /media/disk/runs.tar.gz --runs-dir runs
    """
    imported = import_archive(file, runs_dir, Limits(int(max_gb * (1 << 30)), files=10_000_000))
    open_history(runs_dir).close()
    print(f"{format_count(len(imported.new), 'run')} restored, {len(imported.existing)} existed with the same content")


def _all_runs(runs_dir: Path) -> list[RunDirectory]:
    runs = list_runs(runs_dir)
    if not runs:
        raise InputError(f"{runs_dir}: has no runs")
    return runs


def _write_archive(runs: list[RunDirectory], out: Path, *, checkpoints: bool, patches: bool = True) -> None:
    manifest = write_archive(runs, out, checkpoints=checkpoints, patches=patches, warn=warn)
    print(f"Written: {out} ({format_count(len(manifest.runs), 'run')}, {out.stat().st_size / 1e6:.1f} MB)")


def _write_csv(runs: list[RunDirectory], out: Path, level: Level, runs_dir: Path) -> None:
    """Write the columns of all runs, row by row."""
    ids = [run.id for run in runs]
    with open_history(runs_dir) as database, as_input_error(out), atomic_writer(out, USER_FILE) as file:
        if level == "run":
            names, rows = [*run_keys(), *own_keys(database, ids), *RULE_COLUMNS], _run_rows(database, ids)
        else:
            chosen = dict.fromkeys(name for run_id in ids for name in choose_metrics(database, run_id, level, [])[1])
            names = columns(level, list(chosen))
            rows = chain.from_iterable(read_rows(database, run_id, level, None, None) for run_id in ids)
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        count = write_csv(text, names, rows)
        text.flush()
        text.detach()
    print(f"Written: {out} ({format_count(count, 'row')} of {format_count(len(runs), 'run')})")


def _run_rows(database: Database, ids: list[str]) -> Iterator[dict[str, Any]]:
    for run_id in ids:
        if row := get_run(database, run_id):
            cells = row.as_object()
            cells |= {name: separator.join(cells[name]) for name, separator in SEPARATORS.items()}
            selected = select_epochs(read_evaluations(database, run_id), stage=last_stage(row.method))
            yield cells | rule_columns(summarise_rules([selected]))


def export_tensorboard(runs: Sequence[RunDirectory], out: Path, runs_dir: Path, *, follow: bool) -> None:
    """Write a folder of event files for each run; with `follow`, until all of them have ended."""
    from clarinet_tui.analysis.tensorboard import EventFiles, prepare_folders

    with open_history(runs_dir) as database, ExitStack() as stack, as_input_error(out):
        files: dict[str, EventFiles] = {}
        rows = [find_row(database, runs_dir, run.id) for run in runs]
        folders = prepare_folders(out, database, rows, list_run_ids(runs_dir))
        for run, row in zip(runs, rows, strict=True):
            files[run.id] = stack.enter_context(EventFiles(folders[run.id], row))
            files[run.id].write_settings(run.read_config())
        open_ids = set(files)
        while open_ids:
            for run_id in sorted(open_ids):
                row = find_row(database, runs_dir, run_id)
                files[run_id].write_new(database, row)
                if not (follow and row.state.is_pending):
                    open_ids.remove(run_id)
            if open_ids:
                time.sleep(FOLLOW_INTERVAL)
                update_history(database, runs_dir)
        scalars = sum(file.scalars for file in files.values())
    print(f"Written: {out} ({format_count(scalars, 'scalar')} of {format_count(len(files), 'run')})")
    print(f"Open it with: {shlex.join(['tensorboard', '--logdir', str(out)])}")
