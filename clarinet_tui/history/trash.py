"""Move runs to runs/.trash, from where they can be restored until it is emptied."""

import os
import re
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from clarinet_tui.history.database import Database, HistoryError
from clarinet_tui.history.ingest import delete_run, ingest_run
from clarinet_tui.queue.queue_file import Queue, read_queue, update_queue
from clarinet_tui.runs.directory import RunDirectory, find_worker
from clarinet_tui.runs.files import as_input_error
from clarinet_tui.runs.ownership import own_path
from clarinet_tui.slurm.place import SlurmPlace
from core.errors import InputError

TRASH = ".trash"
REMOVED_NAME = re.compile(r"[0-9a-z]{3,32}(\.\d{1,9})?", re.ASCII)


def check_not_running(runs: Sequence[RunDirectory]) -> None:
    """Raise InputError if one of the runs is running, so that all are removed or none."""
    for run in runs:
        run.check_own("delete")
        _check_not_started(run, read_queue(run.runs_dir))
        _find_jobs(run)
        if worker := find_worker(run):
            raise InputError(f"run {run.id}: is running as process {worker.pid} on {worker.host}: stop it first")


def _check_not_started(run: RunDirectory, queue: Queue) -> None:
    if run.id in queue and not queue[run.id].is_waiting:
        raise InputError(f"run {run.id}: is running: stop it with `clarinet stop {run.id}` first")


def _find_jobs(run: RunDirectory) -> SlurmPlace | None:
    """Return where the run waits on Slurm; None if it does not, and raise InputError if its job has started."""
    place = SlurmPlace(run.runs_dir)
    if not place.has(run.id):
        return None
    place.waiting_jobs([run.id])
    return place


def remove_run(run: RunDirectory, database: Path | None = None) -> None:
    """Remove a run from the queue and the history, and move its directory to the trash; refuse a running one."""

    def dequeue(queue: Queue) -> Queue:
        _check_not_started(run, queue)
        return queue.without([run.id])

    run.check_own("delete")
    if jobs := _find_jobs(run):
        jobs.cancel([run.id])
    update_queue(run.runs_dir, dequeue)
    trash = _trash(run.runs_dir)
    with as_input_error(trash):
        trash.mkdir(mode=0o755, exist_ok=True)
        with run.hold_lock():  # so that no worker starts on it meanwhile
            path, count = trash / run.id, 1
            while path.exists():
                count += 1
                path = trash / f"{run.id}.{count}"
            run.path.rename(path)
    # On a full disk the run is removed all the same, and the next update of the history deletes its rows.
    with suppress(HistoryError), Database.open(run.runs_dir, database) as db:
        delete_run(db, run.id)


def find_removed(runs_dir: Path, prefix: str) -> str:
    """Return the id of the removed run with this prefix."""
    names = {path.name.partition(".")[0] for path in list_removed(runs_dir)}
    matches = [prefix] if prefix in names else sorted(name for name in names if prefix and name.startswith(prefix))
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise InputError(
            f"{prefix[:40]!a} is the prefix of {len(matches)} removed runs: {', '.join(matches[:5])}: give a longer one"
        )
    raise InputError(f"run {prefix[:40]!a}: is not in {_trash(runs_dir)}")


def restore_run(runs_dir: Path, run_id: str, database: Path | None = None) -> RunDirectory:
    """Restore a removed run; of several with the same id, the one that was removed last."""
    run = RunDirectory(runs_dir, run_id)
    paths = [path for path in list_removed(runs_dir) if path.name.partition(".")[0] == run_id]
    if not paths:
        raise InputError(f"run {run_id}: is not in {_trash(runs_dir)}")
    if run.path.exists():
        raise InputError(f"run {run_id}: {run.path} already exists")
    with as_input_error(run.path):
        paths[-1].rename(run.path)
    with suppress(HistoryError), Database.open(runs_dir, database) as db:
        ingest_run(db, run)
    return run


def list_removed(runs_dir: Path) -> list[Path]:
    """Return the removed runs, those with the same id in the order of removal."""
    try:
        entries = [entry for entry in os.scandir(_trash(runs_dir)) if entry.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return []
    names = [entry.name for entry in entries if REMOVED_NAME.fullmatch(entry.name)]
    ordered = sorted(names, key=lambda name: (name.partition(".")[0], int("0" + name.partition(".")[2])))
    return [_trash(runs_dir) / name for name in ordered]


def empty_trash(runs_dir: Path) -> int:
    """Delete all removed runs permanently; return their number."""
    paths = list_removed(runs_dir)
    for path in paths:
        with as_input_error(path):
            shutil.rmtree(path)
    return len(paths)


def _trash(runs_dir: Path) -> Path:
    path = own_path(Path(runs_dir), TRASH)
    if path.is_symlink():
        raise InputError(f"{path} is a symbolic link: remove it first")
    return path
