"""Repairs of `clarinet doctor --repair`. Nothing is deleted: a file that is in the way gets another name."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from clarinet_tui.history.database import DamagedHistoryError, database_path
from clarinet_tui.history.ingest import delete_run, ingest_run
from clarinet_tui.history.reindex import find_mismatches, open_history, reindex
from clarinet_tui.history.states import update_history
from clarinet_tui.queue.queue_file import QUEUE_FILE, lock_queue, read_queue
from clarinet_tui.runs.directory import RunDirectory, list_runs
from clarinet_tui.runs.files import set_aside
from clarinet_tui.runs.lock import LockHeldError, is_held_by, is_locked, read_lock_owner
from clarinet_tui.runs.ownership import find_owner, is_own, own_path
from clarinet_tui.runs.problems import find_problems
from core.errors import InputError

DISPENSABLE = ("environment.json", "stage1.json", "lock")
"""Files that a run can do without; its worker writes them again."""


def repair(runs_dir: Path) -> Iterator[str]:
    """Repair what can be repaired in a runs directory, and yield what was done, a sentence each."""
    queue = own_path(runs_dir, QUEUE_FILE)
    if queue.exists():
        with lock_queue(runs_dir):
            try:
                read_queue(runs_dir)
            except InputError as error:
                yield f"{error}: renamed to {set_aside(queue).name}"
    for run in list_runs(runs_dir):
        uid = find_owner(run.path)
        if uid is not None and is_own(uid, runs_dir):
            yield from _repair_run(run)
    database = database_path(runs_dir)
    if not database.exists():
        return
    try:
        with open_history(runs_dir) as db:
            update_history(db, runs_dir)
            if db.rows("PRAGMA quick_check(1)")[0][0] != "ok":
                raise DamagedHistoryError(database, "damaged pages")
            for run, mismatch in list(find_mismatches(db, runs_dir, rows=True)):
                delete_run(db, run.id)
                ingest_run(db, run)
                yield f"run {run.id}: {mismatch}: ingested again"
            update_history(db, runs_dir)
    except DamagedHistoryError as error:
        reindex(runs_dir)
        yield f"{error}: rebuilt"


def _repair_run(run: RunDirectory) -> Iterator[str]:
    """Move unreadable files out of the way, and record that a lock is free whose process has died."""
    for name, problem in find_problems(run):
        path = run.path / name
        if name in DISPENSABLE and not (name == "lock" and is_locked(path)):
            yield f"run {run.id}: {name}: {problem}: renamed to {set_aside(path).name}"
    owner = read_lock_owner(run.lock)
    if owner is not None and owner.released is None and is_held_by(run.lock, owner) is False:
        with suppress(LockHeldError), run.hold_lock():
            yield f"run {run.id}: released the lock of process {owner.pid} on {owner.host}, which has died"
