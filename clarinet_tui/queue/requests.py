"""Users' requests: submit, resume, pause, move, cancel, stop. They edit queue.json; the supervisor acts on it."""

import os
import signal
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path

from clarinet_tui.devices.local import list_devices
from clarinet_tui.devices.placement import match_devices
from clarinet_tui.queue.queue_file import Queue, QueueEntry, read_queue, update_queue
from clarinet_tui.queue.supervisor_process import ensure_supervisor, find_supervisor, other_supervisor_host
from clarinet_tui.runs.atomic_files import file_size
from clarinet_tui.runs.directory import RunDirectory, find_worker
from clarinet_tui.runs.journal_reader import read_last_event
from clarinet_tui.runs.process import is_alive, request_stop, send_signal
from clarinet_tui.runs.state import RunState
from core.config import RunConfig
from core.errors import InputError

STOP_TIMEOUT = 60.0
"""Seconds that a run has to save itself before it is killed."""
MAX_SLOTS = 64


@dataclass(frozen=True)
class LaunchOptions:
    """How queued runs are started."""

    data_dir: Path
    working_directory: Path
    priority: int = 0
    retries: int = 0
    share_device: bool = False
    paused: bool = False
    on_alarm: tuple[str, ...] = ()
    front: bool = False
    """Whether they start before all other waiting runs."""


class StopResult(Enum):
    REQUESTED = auto()
    """The worker was asked to save and end."""
    DEQUEUED = auto()
    """The run was waiting and has left the queue."""


def submit(runs_dir: Path, configs: Sequence[RunConfig], options: LaunchOptions) -> list[RunDirectory]:
    """Create runs and queue them in this order."""
    check_devices_exist({config.device for config in configs})
    runs = [RunDirectory.create(runs_dir, config) for config in configs]
    enqueue(runs, options)
    return runs


def enqueue(runs: Sequence[RunDirectory], options: LaunchOptions, device: str | None = None) -> None:
    """Queue existing runs, on `device` instead of that in their settings unless it is None."""
    if not runs:
        return
    runs_dir = runs[0].runs_dir
    entries = [_make_entry(run.id, device or run.read_config().device, options) for run in runs]
    update_queue(runs_dir, lambda queue: _add(queue, entries, runs_dir, front=options.front))
    ensure_supervisor(runs_dir)


def _make_entry(run_id: str, device: str, options: LaunchOptions) -> QueueEntry:
    return QueueEntry(
        id=run_id,
        device=device,
        working_directory=str(options.working_directory.absolute()),
        data_dir=str(options.data_dir.absolute()),
        priority=options.priority,
        retries=options.retries,
        share_device=options.share_device,
        paused=options.paused,
        on_alarm=options.on_alarm,
        added_at=time.time(),
    )


def _add(queue: Queue, entries: Sequence[QueueEntry], runs_dir: Path, *, front: bool) -> Queue:
    """Append entries, in place of abandoned ones of the same runs."""
    queued = [entry.id for entry in entries if entry.id in queue]
    kept = queue.without([run_id for run_id in queued if _is_abandoned(RunDirectory(runs_dir, run_id), queue[run_id])])
    added = [entry for entry in entries if entry.id not in kept]
    queue = kept.with_entries([*kept.entries, *added])
    return _with_moved(queue, [entry.id for entry in added], 0) if front else queue


def check_devices_exist(requests: Iterable[str]) -> None:
    """Raise InputError for a requested device that does not exist, before any run fails because of it."""
    devices = list_devices(seconds=0)
    if devices[-1].problem:
        return  # the driver may have recovered when the run starts
    for request in requests:
        match_devices(request, devices)


def cores_per_slot(runs_dir: Path, device: str) -> int | None:
    """Return the cores of one slot for a run on the CPU; None for all cores."""
    slots = read_queue(runs_dir).slots_for("cpu")
    if slots == 1 or match_devices(device, list_devices(seconds=0))[0].key != "cpu":
        return None
    return max(1, len(os.sched_getaffinity(0)) // slots)


def resume(runs: Sequence[RunDirectory], options: LaunchOptions, device: str | None = None) -> None:
    """Queue stopped, failed, lost and cancelled runs again; each continues from its last checkpoint."""
    if not runs:
        return
    if device is not None:
        check_devices_exist([device])
    queue = read_queue(runs[0].runs_dir)
    for run in runs:
        if run.id in queue and not _is_abandoned(run, queue[run.id]):
            raise InputError(f"run {run.id}: is already {'queued' if queue[run.id].is_waiting else 'running'}")
        if worker := find_worker(run):
            raise InputError(f"run {run.id}: is already running as process {worker.pid} on {worker.host}")
        if (event := read_last_event(run.journal)) and event["event"] == RunState.FINISHED:
            raise InputError(
                f"run {run.id}: has finished: `clarinet clone {run.id}` starts a new run with its settings"
            )
    enqueue(runs, options, device)


def _is_abandoned(run: RunDirectory, entry: QueueEntry) -> bool:
    """Return whether worker and supervisor were both killed, so that the entry was not removed."""
    return not entry.is_waiting and find_worker(run) is None and find_supervisor(run.runs_dir) is None


def pause(runs_dir: Path, ids: Collection[str], paused: bool) -> None:
    """Pause or continue waiting runs; without ids, the whole queue."""

    def edit(queue: Queue) -> Queue:
        return _check_waiting(queue, ids).with_changes(ids, paused=paused) if ids else queue.with_paused(paused)

    queue = update_queue(runs_dir, edit)
    if not paused and queue.entries:
        ensure_supervisor(runs_dir)


def move(runs_dir: Path, ids: Sequence[str], index: int) -> None:
    """Move waiting runs to `index` in the starting order, with the priority of the run that was there."""
    update_queue(runs_dir, lambda queue: _with_moved(_check_waiting(queue, ids), ids, index))


def _with_moved(queue: Queue, ids: Sequence[str], index: int) -> Queue:
    if not ids:
        return queue
    others = [entry for entry in queue.waiting if entry.id not in ids]
    index = max(0, min(index, len(others)))
    neighbour = others[min(index, len(others) - 1)] if others else queue[ids[0]]
    queue = queue.with_changes(ids, priority=neighbour.priority)
    return queue.with_entries([*queue.started, *others[:index], *(queue[run_id] for run_id in ids), *others[index:]])


def cancel(runs_dir: Path, ids: Collection[str]) -> None:
    """Remove waiting runs from the queue; their directories stay."""
    update_queue(runs_dir, lambda queue: _check_waiting(queue, ids).without(ids))


def set_slots(runs_dir: Path, slots: Mapping[str, int]) -> None:
    """Set the number of runs at once, by device key, or by "cpu" and "gpu" for all CPUs or GPUs."""
    for device, count in slots.items():
        if not 1 <= count <= MAX_SLOTS:
            raise InputError(f"slots: {device}: expected 1 to {MAX_SLOTS}, got {count}")
    update_queue(runs_dir, lambda queue: queue.with_slots({**queue.slots, **slots}))
    ensure_supervisor_if_needed(runs_dir)


def ensure_supervisor_if_needed(runs_dir: Path) -> None:
    """Start a supervisor if the queue has work and the last one was killed.

    Not for the queue of another machine, on a network mount or in a copy: showing it must not start its runs here.
    """
    queue = read_queue(runs_dir)
    if (queue.started or (queue.waiting and not queue.paused)) and not other_supervisor_host(runs_dir):
        ensure_supervisor(runs_dir)


def check_active(runs: Sequence[RunDirectory]) -> None:
    """Raise InputError if one of the runs is neither running nor queued, so that all are stopped or none."""
    for run in runs:
        if find_worker(run) is None and run.id not in read_queue(run.runs_dir):
            raise InputError(f"run {run.id}: is not running")


def stop(run: RunDirectory, timeout: float = STOP_TIMEOUT) -> StopResult:
    """Ask a run to save and end; remove it from the queue if it is waiting."""
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

    update_queue(run.runs_dir, edit)
    if result is StopResult.REQUESTED:
        ensure_supervisor(run.runs_dir)
    return result or _stop_unqueued(run)


def _stop_unqueued(run: RunDirectory) -> StopResult:
    """Stop a run that the supervisor did not start, such as one of a batch job."""
    worker = find_worker(run)
    if worker is None:
        raise InputError(f"run {run.id}: is not running")
    if is_alive(worker) is None:
        raise InputError(f"run {run.id}: is running on {worker.host} as process {worker.pid}: stop it there")
    request_stop(worker)
    return StopResult.REQUESTED


def wait_until_stopped(
    run: RunDirectory,
    timeout: float,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> bool:
    """Wait until the run has no worker; return whether it saved itself.

    The supervisor kills the workers that it started; any other one is killed here after the timeout.
    """
    deadline = clock() + timeout
    while (worker := find_worker(run)) or _is_started(run):
        if worker and not _is_started(run):
            if clock() > deadline:
                send_signal(worker, signal.SIGKILL)
            else:
                request_stop(worker)  # again: a worker that has just started does not handle the signal yet
        sleep(0.1)
    event = read_last_event(run.journal)
    if event is None:
        return file_size(run.journal) == 0
    return event["event"] in (RunState.STOPPED, RunState.FINISHED)


def _is_started(run: RunDirectory) -> bool:
    queue = read_queue(run.runs_dir)
    return run.id in queue and not queue[run.id].is_waiting


def _check_waiting(queue: Queue, ids: Collection[str]) -> Queue:
    """Return the queue; raise InputError if one of the runs is not waiting in it."""
    for run_id in ids:
        if run_id not in queue:
            raise InputError(f"run {run_id}: is not in the queue")
        if not queue[run_id].is_waiting:
            raise InputError(f"run {run_id}: has already started: `clarinet stop {run_id}` stops it")
    return queue
