"""`clarinet backup` and `restore`: a copy of all runs."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from clarinet_tui.cli.lookup import open_history
from clarinet_tui.cli.options import RUNS, RunsDir
from clarinet_tui.cli.output import warn
from clarinet_tui.runs.archive import Limits, import_archive, write_archive
from clarinet_tui.runs.directory import list_runs
from clarinet_tui.text import format_count
from core.errors import InputError


def backup(
    file: Annotated[Path, Argument(metavar="FILE.tar.gz", help="Archive to write; replaced when it is complete.")],
    runs_dir: RunsDir = RUNS,
) -> None:
    """Write a consistent copy of all runs, also while they train.

    The archive has everything that runs have recorded, with their checkpoints. Of a running run it has the journal up
    to a complete line that is not before its checkpoint. The history is not in it: it is rebuilt from the journals.

    Example: clarinet backup /media/disk/runs.tar.gz
    """
    runs = list_runs(runs_dir)
    if not runs:
        raise InputError(f"{runs_dir}: has no runs")
    manifest = write_archive(runs, file, checkpoints=True, warn=warn)
    print(f"Written: {file} ({format_count(len(manifest.runs), 'run')}, {file.stat().st_size / 1e6:.1f} MB)")


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
