"""Users' requests: submit, resume, pause, move, cancel. They edit queue.json; the supervisor acts on it."""

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from clarinet_tui.devices.local import list_devices
from clarinet_tui.devices.placement import match_devices
from clarinet_tui.queue.queue_file import Queue, QueueEntry, read_queue, update_queue
from clarinet_tui.queue.supervisor import ensure_supervisor, find_supervisor, queue_origin
from clarinet_tui.runs.directory import RunDirectory, create_runs
from clarinet_tui.runs.journal import read_last_event
from clarinet_tui.runs.lock import find_worker
from clarinet_tui.runs.ownership import is_read_only
from clarinet_tui.runs.state import RunState
from clarinet_tui.slurm import control
from clarinet_tui.slurm.jobs import Job, refresh_jobs
from clarinet_tui.slurm.options import SlurmOptions
from clarinet_tui.slurm.submission import JobSettings, make_settings, submit_existing, submit_new
from core.config import RunConfig
from core.errors import InputError
from core.resolve import available_cores

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
    on_end: tuple[str, ...] = ()
    not_before: float = 0.0
    after: tuple[str, ...] = ()
    time_limit: float = 0.0
    front: bool = False
    """Whether they start before all other waiting runs."""
    slurm: SlurmOptions | None = None
    """The options of Slurm jobs; None for this machine."""


def submit(runs_dir: Path, configs: Sequence[RunConfig], options: LaunchOptions) -> list[RunDirectory]:
    """Create runs and queue them in this order; if that fails, such as on a full disk, no run is left behind."""
    if options.slurm is not None:
        return submit_new(slurm_settings(runs_dir, options), configs)
    check_devices_exist({config.device for config in configs})
    with create_runs(runs_dir, configs) as runs:
        _enqueue(runs, options)
    if runs:
        ensure_supervisor(runs_dir)
    return runs


def slurm_settings(runs_dir: Path, options: LaunchOptions) -> JobSettings:
    """Return what the Slurm jobs of one request share."""
    return make_settings(
        runs_dir,
        options.slurm or SlurmOptions(),
        data_dir=options.data_dir,
        working_directory=options.working_directory,
        retries=options.retries,
        priority=options.priority,
        paused=options.paused,
        on_alarm=options.on_alarm,
        on_end=options.on_end,
    )


def enqueue(runs: Sequence[RunDirectory], options: LaunchOptions, device: str | None = None) -> None:
    """Queue existing runs, on `device` instead of that in their settings unless it is None."""
    if runs and options.slurm is not None:
        submit_existing(slurm_settings(runs[0].runs_dir, options), runs)
    elif runs:
        _enqueue(runs, options, device)
        ensure_supervisor(runs[0].runs_dir)


def _enqueue(runs: Sequence[RunDirectory], options: LaunchOptions, device: str | None = None) -> None:
    if not runs:
        return
    runs_dir = runs[0].runs_dir
    entries = [_make_entry(run.id, device or run.read_config().device, options) for run in runs]
    update_queue(runs_dir, lambda queue: _add(queue, entries, runs_dir, front=options.front), adopt=True)


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
        on_end=options.on_end,
        not_before=options.not_before,
        after=options.after,
        time_limit=options.time_limit,
        added_at=time.time(),
    )


def _add(queue: Queue, entries: Sequence[QueueEntry], runs_dir: Path, *, front: bool) -> Queue:
    """Append entries, in place of abandoned ones of the same runs; raise InputError if a run was queued meanwhile."""
    ids = [entry.id for entry in entries]
    for run_id in ids:
        _check_not_queued(RunDirectory(runs_dir, run_id), queue)
    queue = queue.without(ids)
    queue = queue.with_entries([*queue.entries, *entries])
    return _with_moved(queue, ids, 0) if front else queue


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
    return max(1, available_cores() // slots)


def resume(
    runs: Sequence[RunDirectory], options: LaunchOptions, device: str | None = None, *, same_place: bool = True
) -> None:
    """Queue stopped, failed, lost and cancelled runs again; each continues from its last checkpoint.

    A run that was on Slurm is submitted there again with its options, unless a device or other options are given, or
    `same_place` is false.
    """
    if not runs:
        return
    if device is not None:
        check_devices_exist([device])
    queue, jobs = read_queue(runs[0].runs_dir), refresh_jobs(runs[0].runs_dir, force=True)
    for run in runs:
        run.check_own("resume")
        control.check_no_job(run, jobs)
        _check_not_queued(run, queue)
        if worker := find_worker(run):
            raise InputError(f"run {run.id}: is already running as process {worker.pid} on {worker.host}")
        if (event := read_last_event(run.journal)) and event["event"] == RunState.FINISHED:
            raise InputError(
                f"run {run.id}: has finished: `clarinet clone {run.id}` starts a new run with its settings"
            )
    if options.slurm is not None or device is not None or not same_place:
        enqueue(runs, options, device)
        return
    earlier = {run.id: control.last_options(run) for run in runs}
    for slurm in _distinct(earlier.values()):
        enqueue([run for run in runs if earlier[run.id] == slurm], replace(options, slurm=slurm))


def _distinct(items: Iterable[SlurmOptions | None]) -> list[SlurmOptions | None]:
    distinct: list[SlurmOptions | None] = []
    for item in items:
        if item not in distinct:
            distinct.append(item)
    return distinct


def _check_not_queued(run: RunDirectory, queue: Queue) -> None:
    """Raise InputError if it is queued, unless its worker and its supervisor were both killed and left the entry."""
    if run.id not in queue:
        return
    is_waiting = queue[run.id].is_waiting
    if is_waiting or find_worker(run) or find_supervisor(run.runs_dir):
        raise InputError(f"run {run.id}: is already {'queued' if is_waiting else 'running'}")


def pause(runs_dir: Path, ids: Collection[str], paused: bool) -> None:
    """Pause or continue waiting runs; without ids, the whole queue of this machine."""
    if jobs := control.waiting_jobs(runs_dir, ids):
        control.hold(runs_dir, jobs, paused)
        ids = _without_jobs(ids, jobs)
        if not ids:
            return

    def edit(queue: Queue) -> Queue:
        if not ids:
            return queue.with_paused(paused)
        return _check_waiting(queue, runs_dir, ids).with_changes(ids, paused=paused)

    queue = update_queue(runs_dir, edit, adopt=not paused)
    if not paused and queue.entries:
        ensure_supervisor(runs_dir)


def move(runs_dir: Path, ids: Sequence[str], index: int) -> None:
    """Move waiting runs to `index` in the starting order, with the priority of the run that was there."""
    if jobs := control.waiting_jobs(runs_dir, ids):
        control.move(runs_dir, jobs, index)
        ids = _without_jobs(ids, jobs)
    update_queue(runs_dir, lambda queue: _with_moved(_check_waiting(queue, runs_dir, ids), ids, index))


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
    if jobs := control.waiting_jobs(runs_dir, ids):
        control.cancel(runs_dir, jobs)
        ids = _without_jobs(ids, jobs)
    update_queue(runs_dir, lambda queue: _check_waiting(queue, runs_dir, ids).without(ids))


def set_slots(runs_dir: Path, slots: Mapping[str, int]) -> None:
    """Set the number of runs at once, by device key, or by "cpu" and "gpu" for all CPUs or GPUs."""
    for device, count in slots.items():
        if not 1 <= count <= MAX_SLOTS:
            raise InputError(f"slots: {device}: expected 1 to {MAX_SLOTS}, got {count}")
    update_queue(runs_dir, lambda queue: queue.with_slots({**queue.slots, **slots}))
    ensure_supervisor_if_needed(runs_dir)


def ensure_supervisor_if_needed(runs_dir: Path) -> None:
    """Start a supervisor if this user's queue has work and the last one was killed.

    Not for the queue of another machine or directory, on a network mount or in a copy: showing it starts nothing.
    Nor for an app that only watches.
    """
    if is_read_only():
        return
    queue = read_queue(runs_dir)
    if (queue.started or (queue.waiting and not queue.paused)) and not queue_origin(runs_dir):
        ensure_supervisor(runs_dir)


def _without_jobs(ids: Collection[str], jobs: Sequence[Job]) -> list[str]:
    on_slurm = {job.run for job in jobs}
    return [run_id for run_id in ids if run_id not in on_slurm]


def _check_waiting(queue: Queue, runs_dir: Path, ids: Collection[str]) -> Queue:
    """Return the queue; raise InputError if one of the runs is not waiting in it."""
    for run_id in ids:
        if run_id not in queue:
            RunDirectory(runs_dir, run_id).check_own("pause, move or cancel")
            raise InputError(f"run {run_id}: is not in the queue")
        if not queue[run_id].is_waiting:
            raise InputError(f"run {run_id}: has already started: `clarinet stop {run_id}` stops it")
    return queue
