"""Bring the history up to date, with the states that journals do not record: queued, starting, lost, silent."""

import sqlite3
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from clarinet_tui.history.database import Database
from clarinet_tui.history.ingest import Progress, ingest_all, ingest_run, no_progress
from clarinet_tui.queue.queue_file import Queue, never_started, read_all_queues
from clarinet_tui.runs.directory import SILENT_AFTER, RunDirectory
from clarinet_tui.runs.environment import read_environment
from clarinet_tui.runs.lock import LockOwner, current_process, is_held_by, read_lock_owner
from clarinet_tui.runs.state import RunState
from clarinet_tui.slurm.jobs import Job, try_refresh
from core.errors import InputError

CREATION_SECONDS = 30.0
"""A run this young without a queue entry and without a worker may still be in creation."""
FIRST_SECONDS = 1.0
"""Time limit for each run that is ingested before the others."""
_UNFINISHED = """SELECT id, state, journal_state, journal_changed, created,
    (SELECT max(time) FROM events WHERE run = id AND event IN ('started', 'resumed')) AS attempt_started
    FROM runs WHERE journal_state IN ('queued', 'running') OR state != journal_state
        OR id IN (SELECT value FROM json_each(?))"""


def update_history(
    db: Database, runs_dir: Path, *, first: Iterable[str] = (), states: bool = True, progress: Progress = no_progress
) -> None:
    """Ingest all runs, those in `first` before the others, and refresh the states unless `states` is false."""
    for run_id in first:
        ingest_run(db, RunDirectory(runs_dir, run_id), limit_seconds=FIRST_SECONDS)
    ingest_all(db, runs_dir, progress)
    if states:
        refresh_states(db, runs_dir)


def refresh_states(
    db: Database, runs_dir: Path, *, now: Callable[[], float] = time.time, here: LockOwner | None = None
) -> int:
    """Check every run that has not ended against queue and processes; return the number of changed states."""
    db.reopen_if_replaced()
    here = here or current_process()
    changed = 0
    try:
        queue = read_all_queues(runs_dir)
    except InputError:  # it is damaged: commands that change it report that
        queue = Queue()
    slurm = try_refresh(runs_dir)
    jobs = {job.run: job for job in slurm.jobs}
    queued = msgspec.json.encode([*(entry.id for entry in queue.entries), *jobs]).decode()
    for row in db.rows(_UNFINISHED, (queued,)):
        try:
            run = RunDirectory(runs_dir, row["id"])
        except InputError:
            continue
        if run.id in jobs:
            state = _job_state(run, jobs[run.id], slurm.answered_at, row)
        else:
            state = _local_state(run, row, queue, now(), here)
        if state == row["state"]:
            continue
        if state is RunState.LOST:
            # The worker was dead before this: ingest its last lines now. If there are any, the row below has changed.
            ingest_run(db, run)
        with db.transaction() as connection:
            updated = connection.execute(
                "UPDATE runs SET state = ? WHERE id = ? AND state = ? AND journal_state = ? AND journal_changed IS ?",
                (state, row["id"], row["state"], row["journal_state"], row["journal_changed"]),
            )
        changed += updated.rowcount
    return changed


def _job_state(run: RunDirectory, job: Job, answered_at: float, row: sqlite3.Row) -> RunState:
    """Return the state of a run whose Slurm job has not ended: whether its worker lives, Slurm knows better.

    Only a journal that was written after Slurm's last answer shows that the job does not wait any more.
    """
    recorded = RunState(row["journal_state"])
    has_started = recorded in (RunState.RUNNING, RunState.FINISHED, RunState.FAILED)
    if job.is_waiting and not (has_started and (row["journal_changed"] or 0.0) > answered_at):
        return RunState.QUEUED
    if recorded in (RunState.FINISHED, RunState.FAILED) or (recorded is RunState.STOPPED and job.kill_at is not None):
        return recorded
    owner = read_lock_owner(run.lock)
    has_worker = owner is not None and owner.released is None
    return RunState.RUNNING if recorded is RunState.RUNNING and has_worker else RunState.STARTING


def _local_state(run: RunDirectory, row: sqlite3.Row, queue: Queue, now: float, here: LockOwner) -> RunState:
    """Return the state of a run without a Slurm job, by its queue entry and its process."""
    owner = read_lock_owner(run.lock)
    alive = None if owner is None else is_held_by(run.lock, owner, here)
    if not alive and run.id in queue:
        entry = queue[run.id]
        if entry.is_waiting:
            return RunState.QUEUED
        if never_started(run, entry):
            return RunState.STARTING
    recorded = RunState(row["journal_state"])
    last_written = row["journal_changed"] or 0.0
    if recorded not in (RunState.QUEUED, RunState.RUNNING):
        return recorded
    if owner is not None and alive:
        wrote = max(last_written, row["attempt_started"] or 0.0) >= owner.since
        if not wrote:  # perhaps the clock was set back, or the journal's time is of another machine's clock
            environment = read_environment(run)
            wrote = (environment.get("pid"), environment.get("boot")) == (owner.pid, owner.boot)
        return RunState.RUNNING if recorded is RunState.RUNNING and wrote else RunState.STARTING
    if recorded is RunState.QUEUED:
        # It has an empty journal and no queue entry: it is lost, in creation, or was cancelled.
        if alive is False and owner is not None and owner.released is None:
            return RunState.LOST
        return RunState.QUEUED if 0 <= now - row["created"] < CREATION_SECONDS else RunState.STOPPED
    if alive is False:
        return RunState.LOST
    return RunState.SILENT if now - last_written > SILENT_AFTER else RunState.RUNNING
