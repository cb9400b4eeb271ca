"""`clarinet export --format tensorboard`: event files of runs, once or while they train."""

import shlex
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from clarinet_tui.cli.lookup import open_history
from clarinet_tui.text import format_count

if TYPE_CHECKING:
    from clarinet_tui.history.database import Database
    from clarinet_tui.history.queries import RunRow
    from clarinet_tui.runs.directory import RunDirectory

INTERVAL = 2.0


def export_tensorboard(runs: "Sequence[RunDirectory]", out: Path, runs_dir: Path, *, follow: bool) -> None:
    """Write a directory of event files for each run; with `follow`, until all of them have ended."""
    from clarinet_tui.analysis.tensorboard import EventFiles
    from clarinet_tui.history.states import update_history
    from clarinet_tui.runs.atomic_files import as_input_error

    with open_history(runs_dir) as database, ExitStack() as stack, as_input_error(out):
        files: dict[str, EventFiles] = {}
        for run in runs:
            row = _read_row(database, run.id)
            files[run.id] = stack.enter_context(EventFiles(out, row))
            files[run.id].write_settings(run.read_config())
        open_ids = set(files)
        while open_ids:
            for run_id in sorted(open_ids):
                row = _read_row(database, run_id)
                files[run_id].write_new(database, row)
                if not (follow and row.state.is_pending):
                    open_ids.remove(run_id)
            if open_ids:
                time.sleep(INTERVAL)
                update_history(database, runs_dir)
        scalars = sum(file.scalars for file in files.values())
    print(f"Written: {out} ({format_count(scalars, 'scalar')} of {format_count(len(files), 'run')})")
    print(f"Open it with: {shlex.join(['tensorboard', '--logdir', str(out)])}")


def _read_row(database: "Database", run_id: str) -> "RunRow":
    from clarinet_tui.history.queries import get_run

    row = get_run(database, run_id)
    assert row is not None, "open_history has ingested every run directory"
    return row
