"""Runs that were removed lie in runs/.trash until it is emptied, and can be taken back."""

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from clarinet_tui.history.database import Database
from clarinet_tui.history.ingest import forget, ingest_run
from clarinet_tui.queue.queue_file import Queue, change_queue, read_queue
from clarinet_tui.queue.supervisor_process import holder_of
from clarinet_tui.runs.atomic_files import told
from clarinet_tui.runs.directory import RunDirectory, valid_id
from core.errors import InputError

TRASH = ".trash"
REMOVED = re.compile(r"[0-9a-z]{3,32}(\.\d{1,9})?", re.ASCII)


def refuse_if_live(runs: Sequence[RunDirectory]) -> None:
    """For those who remove several: none of them if one is being trained."""
    for run in runs:
        _refuse_started(run, read_queue(run.runs_dir))
        if holder := holder_of(run):
            raise InputError(f"run {run.id}: is running, process {holder.pid} on {holder.host}: stop it first")


def _refuse_started(run: RunDirectory, queue: Queue) -> None:
    if run.id in queue and not queue[run.id].waits:
        raise InputError(f"run {run.id}: is running: `clarinet stop {run.id}` first")


def remove(run: RunDirectory, database: Path | None = None) -> None:
    """Out of the queue, the history and the listing; a run that is being trained is refused."""

    def leave(queue: Queue) -> Queue:
        _refuse_started(run, queue)
        return queue.without([run.id])

    change_queue(run.runs_dir, leave)
    trash = _trash(run.runs_dir)
    with told(trash):
        trash.mkdir(exist_ok=True)
        # Held, so that no worker takes it on the way.
        with run.hold():
            run.path.rename(_free_place(trash, run.id))
    with Database.open(run.runs_dir, database) as db:
        forget(db, run.id)


def find_removed(runs_dir: Path, prefix: str) -> str:
    """The id of the removed run that begins so."""
    names = {place.name.partition(".")[0] for place in removed(runs_dir)}
    found = [prefix] if prefix in names else sorted(name for name in names if prefix and name.startswith(prefix))
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(f"{prefix[:40]!a} is not one removed run but {len(found)}: {', '.join(found[:5])}")
    raise InputError(f"run {prefix[:40]!a}: is not in {_trash(runs_dir)}")


def restore(runs_dir: Path, run_id: str, database: Path | None = None) -> RunDirectory:
    """Take a removed run back: the one that was removed last, where several had this id."""
    if not valid_id(run_id):
        raise InputError(f"run id: expected 3 to 32 of 0-9 and a-z, got {run_id[:40]!a}")
    found = [place for place in removed(runs_dir) if place.name.partition(".")[0] == run_id]
    if not found:
        raise InputError(f"run {run_id}: is not in {_trash(runs_dir)}")
    run = RunDirectory(runs_dir, run_id)
    if run.path.exists():
        raise InputError(f"run {run_id}: {run.path} is there already")
    with told(run.path):
        found[-1].rename(run.path)
    with Database.open(runs_dir, database) as db:
        ingest_run(db, run)
    return run


def removed(runs_dir: Path) -> list[Path]:
    """What lies in the trash, in the order of removal where ids are the same."""
    try:
        entries = [entry for entry in os.scandir(_trash(runs_dir)) if entry.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return []
    names = [entry.name for entry in entries if REMOVED.fullmatch(entry.name)]
    ordered = sorted(names, key=lambda name: (name.partition(".")[0], int("0" + name.partition(".")[2])))
    return [_trash(runs_dir) / name for name in ordered]


def empty(runs_dir: Path) -> int:
    """Delete for good; the number of runs."""
    gone = removed(runs_dir)
    for place in gone:
        with told(place):
            shutil.rmtree(place)
    return len(gone)


def _trash(runs_dir: Path) -> Path:
    place = Path(runs_dir) / TRASH
    if place.is_symlink():
        raise InputError(f"{place} is a symbolic link: remove it first")
    return place


def _free_place(trash: Path, run_id: str) -> Path:
    place, count = trash / run_id, 1
    while place.exists():
        count += 1
        place = trash / f"{run_id}.{count}"
    return place
