"""What became of runs that have not said their last word: alive, lost, or silent."""

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from clarinet_tui.history.database import Database
from clarinet_tui.history.ingest import ingest_run
from clarinet_tui.journal.directory import RunDirectory
from clarinet_tui.journal.holding import read_holder
from clarinet_tui.journal.process import Holder, alive, myself
from core.errors import InputError

SILENT_AFTER = 600.0
"""Seconds without a word until a run of another machine is called silent."""
_OPEN = """SELECT id, state, said, heard,
    (SELECT max(time) FROM events WHERE run = id AND event IN ('started', 'resumed')) AS begun
    FROM runs WHERE said IN ('queued', 'running')"""


def refresh_states(
    db: Database, runs_dir: Path, *, now: Callable[[], float] = time.time, here: Holder | None = None
) -> int:
    """Look after every run that is not over; the number whose state changed."""
    db.renew()
    here = here or myself()
    changed = 0
    for row in db.rows(_OPEN):
        try:
            run = RunDirectory(runs_dir, row["id"])
        except InputError:
            continue
        changed += _refresh(db, run, row, now(), here)
    return changed


def _refresh(db: Database, run: RunDirectory, row: sqlite3.Row, now: float, here: Holder) -> bool:
    holder = read_holder(run.lock)
    lives = None if holder is None else alive(holder, here)
    state = _state(row, holder, lives, now)
    if state == row["state"]:
        return False
    if state == "lost":
        # Dead before this: whatever it said last is read now, and then the row below is no longer the same.
        ingest_run(db, run)
    with db.transaction() as connection:
        done = connection.execute(
            "UPDATE runs SET state = ? WHERE id = ? AND state = ? AND said = ? AND heard IS ?",
            (state, row["id"], row["state"], row["said"], row["heard"]),
        )
    return done.rowcount > 0


def _state(row: sqlite3.Row, holder: Holder | None, lives: bool | None, now: float) -> str:
    heard = row["heard"] or 0.0
    if holder is not None and lives:
        # The file's time may be another machine's clock, so that either will do.
        spoke = row["said"] == "running" and max(heard, row["begun"] or 0.0) >= holder.since
        return "running" if spoke else "starting"
    if row["said"] == "queued":
        # Given back in good order before the first word: it was refused, and waits as before.
        return "lost" if lives is False and holder is not None and holder.released is None else "queued"
    if lives is False:
        return "lost"
    return "silent" if now - heard > SILENT_AFTER else "running"
