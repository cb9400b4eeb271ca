"""What became of runs that have not said their last word: queued, alive, lost, or silent."""

import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from clarinet_tui.history.database import Database
from clarinet_tui.history.ingest import ingest_run
from clarinet_tui.queue.queue_file import Queue, read_queue
from clarinet_tui.runs.atomic_files import size_of
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.environment import read_environment
from clarinet_tui.runs.lock import read_holder
from clarinet_tui.runs.process import SILENT_AFTER, Holder, alive, myself
from core.errors import InputError

BRIEF = 30.0
"""Seconds that a run may be there without a place in the queue and without a worker: it is just being made."""
_OPEN = """SELECT id, state, said, heard, created,
    (SELECT max(time) FROM events WHERE run = id AND event IN ('started', 'resumed')) AS begun
    FROM runs WHERE said IN ('queued', 'running') OR state != said OR id IN (SELECT value FROM json_each(?))"""


def refresh_states(
    db: Database, runs_dir: Path, *, now: Callable[[], float] = time.time, here: Holder | None = None
) -> int:
    """Look after every run that is not over; the number whose state changed."""
    db.renew()
    here = here or myself()
    changed = 0
    queue = _queue(runs_dir)
    queued = msgspec.json.encode([entry.id for entry in queue.entries]).decode()
    for row in db.rows(_OPEN, (queued,)):
        try:
            run = RunDirectory(runs_dir, row["id"])
        except InputError:
            continue
        changed += _refresh(db, run, row, queue, now(), here)
    return changed


def _queue(runs_dir: Path) -> Queue:
    """One that cannot be read is a matter for those who change it."""
    try:
        return read_queue(runs_dir)
    except InputError:
        return Queue()


def _refresh(db: Database, run: RunDirectory, row: sqlite3.Row, queue: Queue, now: float, here: Holder) -> bool:
    holder = read_holder(run.lock)
    lives = None if holder is None else alive(holder, here)
    state = _in_queue(run, queue, holder, lives) or _state(run, row, holder, lives, now)
    if state == row["state"]:
        return False
    if state == "lost":
        # Dead before this: whatever it said last is read now, and then the row below is no longer the same.
        with suppress(OSError):  # one that cannot be read is lost all the same
            ingest_run(db, run)
    with db.transaction() as connection:
        done = connection.execute(
            "UPDATE runs SET state = ? WHERE id = ? AND state = ? AND said = ? AND heard IS ?",
            (state, row["id"], row["state"], row["said"], row["heard"]),
        )
    return done.rowcount > 0


def _in_queue(run: RunDirectory, queue: Queue, holder: Holder | None, lives: bool | None) -> str | None:
    """What the queue says of a run that no worker holds, or not yet."""
    if lives or run.id not in queue:
        return None
    entry = queue[run.id]
    if entry.waits:
        return "queued"
    began = size_of(run.journal) > entry.spoken or (holder is not None and holder.since >= entry.begun)
    return None if began else "starting"


def _state(run: RunDirectory, row: sqlite3.Row, holder: Holder | None, lives: bool | None, now: float) -> str:
    said: str = row["said"]
    heard = row["heard"] or 0.0
    if said not in ("queued", "running"):
        return said
    if holder is not None and lives:
        # The file's time may be another machine's clock, so that either will do.
        spoke = max(heard, row["begun"] or 0.0) >= holder.since or _began_as(run, holder)
        return "running" if said == "running" and spoke else "starting"
    if said == "queued":
        return _never_spoke(holder, lives, now - row["created"])
    if lives is False:
        return "lost"
    return "silent" if now - heard > SILENT_AFTER else "running"


def _began_as(run: RunDirectory, holder: Holder) -> bool:
    """Whether this very process has spoken: its first word leaves its number there, even if the clock was set back."""
    told = read_environment(run)
    return (told.get("pid"), told.get("boot")) == (holder.pid, holder.boot)


def _never_spoke(holder: Holder | None, lives: bool | None, age: float) -> str:
    """Neither in the queue nor with a worker: it died, was cancelled, or is just being made."""
    if lives is False and holder is not None and holder.released is None:
        return "lost"
    return "queued" if 0 <= age < BRIEF else "stopped"
