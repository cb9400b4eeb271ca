"""Find the live worker of a run."""

import time

from clarinet_tui.runs.atomic_files import modified_time
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.lock import is_held_by, is_locked, read_lock_owner
from clarinet_tui.runs.process import SILENT_AFTER, LockOwner


def find_worker(run: RunDirectory) -> LockOwner | None:
    """Return the live worker of a run.

    A worker on another machine counts as dead when its lock is free and its journal was not written for SILENT_AFTER s.
    """
    owner = read_lock_owner(run.lock)
    if owner is None or (alive := is_held_by(run.lock, owner)) is False:
        return None
    silent = time.time() - modified_time(run.journal) > SILENT_AFTER
    return owner if alive or not silent or is_locked(run.lock) else None


def find_local_worker(run: RunDirectory) -> LockOwner | None:
    """Return the run's worker only if it is on this machine: pids of another one mean nothing here."""
    owner = read_lock_owner(run.lock)
    return owner if owner is not None and is_held_by(run.lock, owner) else None
