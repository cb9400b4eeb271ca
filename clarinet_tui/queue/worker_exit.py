"""How a worker ended, and whether its run may be retried."""

import os
import signal

from clarinet_tui.queue.queue_file import QueueEntry
from clarinet_tui.runs.atomic_files import file_size
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.journal_reader import read_last_event
from clarinet_tui.runs.journal_writer import JournalWriter
from clarinet_tui.runs.lock import read_lock_owner
from clarinet_tui.runs.state import FINAL_EVENTS, RunState
from clarinet_tui.runs.worker_log import read_last_line
from clarinet_tui.text import printable
from core.events import PERMANENT_FAILURES, Failed, FailureKind

STOP_EXIT_CODES = frozenset(128 + number for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
GPU_IN_USE = os.EX_TEMPFAIL
"""The exit code of a worker whose GPU another run has locked first: the run keeps waiting."""
CLOSE_TIMEOUT = 2.0
"""Seconds to wait for room on a full disk: other runs wait meanwhile."""


def has_written(run: RunDirectory, entry: QueueEntry) -> bool:
    """Return whether the journal has grown since the run was started."""
    return file_size(run.journal) > entry.journal_size


def ended_unrecorded(run: RunDirectory, entry: QueueEntry, exit_code: int | None) -> bool:
    """Return whether a worker of this supervisor ended, unasked, before it wrote to its journal."""
    stopped = entry.stop_timeout is not None or exit_code in STOP_EXIT_CODES or exit_code == GPU_IN_USE
    return exit_code is not None and not stopped and not has_written(run, entry)


def never_started(run: RunDirectory, entry: QueueEntry) -> bool:
    """Return whether no worker has held the run's lock since it was to start: the supervisor died in between."""
    owner = read_lock_owner(run.lock)
    return not has_written(run, entry) and (owner is None or owner.since < entry.started_at)


def can_retry(run: RunDirectory, entry: QueueEntry) -> bool:
    """Return whether the run was lost or has failed in a way that a retry may avoid."""
    event = read_last_event(run.journal) if has_written(run, entry) else None
    if event is None or event["event"] not in FINAL_EVENTS:
        return True
    return event["event"] == RunState.FAILED and event.get("kind") not in PERMANENT_FAILURES


def record_failure(run: RunDirectory, message: str) -> None:
    """Write the failure of a worker that could not record it."""
    with run.hold_lock():
        journal = JournalWriter(run.journal)
        try:
            journal.append(Failed(iteration=0, message=message, kind=FailureKind.NOT_STARTED))
        finally:
            journal.close(CLOSE_TIMEOUT)


def describe_exit(run: RunDirectory, exit_code: int | None) -> str:
    cause = "" if exit_code is None else f" by signal {-exit_code}" if exit_code < 0 else f" with exit code {exit_code}"
    last_line = printable(read_last_line(run))[:500]
    return f"the worker ended{cause} before it wrote to its journal{': ' if last_line else ''}{last_line}"
