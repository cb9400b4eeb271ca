"""Stop runs: through the queue, and directly where no supervisor acts on it."""

import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from enum import Enum, auto

from clarinet_tui.queue.queue_file import LOCK_SECONDS, Queue, read_queue, update_queue
from clarinet_tui.queue.supervisor import KILL_SECONDS, ensure_supervisor
from clarinet_tui.queue.workers import never_started
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.files import file_size
from clarinet_tui.runs.journal import read_last_event
from clarinet_tui.runs.lock import (
    LockHeldError,
    find_local_worker,
    find_worker,
    is_held_by,
    request_stop,
    signal_holder,
)
from clarinet_tui.runs.state import RunState
from clarinet_tui.slurm import control
from core.errors import InputError

STOP_TIMEOUT = 60.0
"""Seconds that a run has to save itself before it is killed."""
SUPERVISOR_SECONDS = 2.0
"""Seconds after which a supervisor that works has acted on a request."""


class StopResult(Enum):
    REQUESTED = auto()
    """The worker was asked to save and end."""
    DEQUEUED = auto()
    """The run was waiting and has left the queue."""


def check_active(runs: Sequence[RunDirectory]) -> None:
    """Raise InputError if one of the runs is neither running nor queued, so that all are stopped or none."""
    for run in runs:
        run.check_own("stop")
        if find_worker(run) is None and run.id not in read_queue(run.runs_dir) and control.find_job(run) is None:
            raise InputError(f"run {run.id}: is not running")


def stop(run: RunDirectory, timeout: float = STOP_TIMEOUT) -> StopResult:
    """Ask a run to save and end; remove it from the queue if it is waiting."""
    run.check_own("stop")
    requested = control.stop(run, timeout)
    if requested is not None:
        return StopResult.REQUESTED if requested else StopResult.DEQUEUED
    result: StopResult | None = None

    def edit(queue: Queue) -> Queue:
        nonlocal result
        if run.id not in queue:
            return queue
        if queue[run.id].is_waiting:
            result = StopResult.DEQUEUED
            return queue.without([run.id])
        result = StopResult.REQUESTED
        return queue.with_changes([run.id], stop_timeout=timeout)

    try:
        update_queue(run.runs_dir, edit, wait=SUPERVISOR_SECONDS if find_local_worker(run) else LOCK_SECONDS)
    except LockHeldError:
        if find_local_worker(run) is None:
            raise
    if result is StopResult.REQUESTED:
        ensure_supervisor(run.runs_dir)
    return result or _stop_worker(run)


def _stop_worker(run: RunDirectory) -> StopResult:
    """Stop a run without the queue: one of a batch job, or while a frozen process holds the queue's lock."""
    worker = find_worker(run)
    if worker is None:
        raise InputError(f"run {run.id}: is not running")
    if is_held_by(run.lock, worker) is None:
        raise InputError(f"run {run.id}: is running on {worker.host} as process {worker.pid}: stop it there")
    request_stop(run.lock, worker)
    return StopResult.REQUESTED


def wait_until_stopped(
    run: RunDirectory,
    timeout: float,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> bool:
    """Wait until the run has no worker; return whether it saved itself.

    The supervisor signals the workers that it started. If it does not, because it is frozen or has died, this process
    does: after half of a short timeout it asks the worker to stop, and after the timeout it kills it.
    """
    control.wait_until_ended(run, timeout + KILL_SECONDS, clock=clock, sleep=sleep)
    begun = clock()
    while (worker := find_worker(run)) or _is_started(run):
        elapsed = clock() - begun
        if worker and elapsed > timeout + KILL_SECONDS:
            raise InputError(f"run {run.id}: process {worker.pid} on {worker.host} has not ended within {timeout:g} s")
        if not worker and elapsed > max(timeout, SUPERVISOR_SECONDS):
            _drop_ended(run)
            break
        if worker and elapsed > timeout:
            signal_holder(run.lock, worker, signal.SIGKILL)
        elif worker and (elapsed > min(SUPERVISOR_SECONDS, timeout / 2) or not _is_started(run)):
            request_stop(run.lock, worker)  # again: a worker that has just started does not handle the signal yet
        sleep(0.1)
    event = read_last_event(run.journal)
    if event is None:
        return file_size(run.journal) == 0
    return event["event"] in (RunState.STOPPED, RunState.FINISHED)


def _drop_ended(run: RunDirectory) -> None:
    """Remove a run that has ended from the queue, in place of a supervisor that does not.

    A run whose worker was not seen yet keeps its entry, and with it the request to stop.
    """

    def drop(queue: Queue) -> Queue:
        return queue if run.id in queue and never_started(run, queue[run.id]) else queue.without([run.id])

    with suppress(LockHeldError):
        update_queue(run.runs_dir, drop, wait=SUPERVISOR_SECONDS)


def _is_started(run: RunDirectory) -> bool:
    queue = read_queue(run.runs_dir)
    return run.id in queue and not queue[run.id].is_waiting
