"""The queue of this machine as a place: requests edit queue.json, and the supervisor acts on it."""

import os
import shlex
import signal
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import ClassVar

import msgspec

from clarinet_tui.devices.device import Device, match_devices
from clarinet_tui.devices.local import list_devices
from clarinet_tui.place import (
    STOP_TIMEOUT,
    LaunchOptions,
    PlaceName,
    QueueRow,
    StopResult,
    check_waiting,
    settings_of_row,
)
from clarinet_tui.queue.queue_file import (
    LOCK_SECONDS,
    Queue,
    QueueEntry,
    never_started,
    only_schedulable,
    read_all_queues,
    read_queue,
    update_queue,
)
from clarinet_tui.queue.scheduling import schedule_queue
from clarinet_tui.queue.supervisor import (
    KILL_SECONDS,
    ensure_supervisor,
    find_supervisor,
    is_unresponsive,
    queue_origin,
)
from clarinet_tui.queue.sweep import run_command
from clarinet_tui.runs.directory import RunDirectory, create_runs, find_config, find_local_worker, find_worker
from clarinet_tui.runs.lock import LockHeldError, is_held_by, request_stop, signal_holder
from clarinet_tui.runs.ownership import is_read_only
from clarinet_tui.text import printable, shell_command
from core.config import RunConfig
from core.errors import InputError
from core.resolve import available_cores, minimal_settings

MAX_SLOTS = 64
SUPERVISOR_SECONDS = 2.0
"""Seconds after which a supervisor that works has acted on a request."""


class LocalPlace:
    """This machine, with one slot for each device unless the user sets more."""

    name: ClassVar[PlaceName] = PlaceName.LOCAL
    title: ClassVar[str] = "this machine"
    is_here: ClassVar[bool] = True

    def __init__(self, runs_dir: Path) -> None:
        self.runs_dir = Path(runs_dir)

    def submit(
        self, configs: Sequence[RunConfig], options: LaunchOptions, *, run_id: str | None = None, front: bool = False
    ) -> list[RunDirectory]:
        check_devices_exist({config.device for config in configs})
        with create_runs(self.runs_dir, configs, run_id=run_id) as runs:
            self._add(runs, [config.device for config in configs], options, front=front)
        if runs:
            ensure_supervisor(self.runs_dir)
        return runs

    def resume(self, runs: Sequence[RunDirectory], options: LaunchOptions, *, device: str | None = None) -> None:
        if device:
            check_devices_exist([device])
        self._add(runs, [device or run.read_config().device for run in runs], options)
        ensure_supervisor(self.runs_dir)

    def _add(
        self, runs: Sequence[RunDirectory], devices: Sequence[str], options: LaunchOptions, *, front: bool = False
    ) -> None:
        """Append runs, in place of abandoned entries of them; raise InputError if one was queued meanwhile."""
        fields = msgspec.structs.asdict(options) | {"added_at": time.time()}
        entries = [QueueEntry(id=run.id, device=device, **fields) for run, device in zip(runs, devices, strict=True)]
        ids = [run.id for run in runs]

        def add(queue: Queue) -> Queue:
            for run in runs:
                _check_not_queued(run, queue)
            queue = queue.without(ids)
            queue = queue.with_entries([*queue.entries, *entries])
            return _with_moved(queue, ids, 0) if front else queue

        update_queue(self.runs_dir, add, adopt=True)

    def last_options(self, run: RunDirectory, options: LaunchOptions) -> LaunchOptions | None:
        """Return `options`: this machine keeps none, and resumes every run that was nowhere else."""
        return options

    def preview(self, configs: Sequence[RunConfig], options: LaunchOptions) -> list[str]:
        """Return commands that train in a terminal, or from the queue if the runs have to wait for a time or a run."""
        is_default = options.data_dir == str(Path(os.environ.get("CLARINET_DATA") or "data").absolute())
        values = [
            ("--data-dir", "" if is_default else options.data_dir),
            ("--on-alarm", shlex.join(options.on_alarm)),
            ("--on-end", shlex.join(options.on_end)),
            ("--time-limit", f"{options.time_limit:.0f}s" if options.time_limit else ""),
            ("--not-before", f"{datetime.fromtimestamp(options.not_before):%F %T}" if options.not_before else ""),
            *(("--after", run_id) for run_id in options.after),
        ]
        words = [word for pair in values if pair[1] for word in pair]
        headless = not (options.not_before or options.after)
        return [
            run_command(minimal_settings(config), *words, headless=headless, runs_dir=self.runs_dir)
            for config in configs
        ]

    def cores(self, device: str, options: LaunchOptions) -> int | None:
        """Return the cores of one slot for a run on the CPU."""
        slots = read_queue(self.runs_dir).slots_for("cpu")
        if slots == 1 or match_devices(device, list_devices(seconds=0))[0].key != "cpu":
            return None
        return max(1, available_cores() // slots)

    def has(self, run_id: str) -> bool:
        return run_id in read_queue(self.runs_dir)

    def check_absent(self, runs: Sequence[RunDirectory]) -> None:
        queue = read_queue(self.runs_dir)
        for run in runs:
            _check_not_queued(run, queue)

    def stop(self, run: RunDirectory, timeout: float = STOP_TIMEOUT) -> StopResult:
        """Stop a run of the queue, or any worker on this machine."""
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
        if result is None:  # a run of a batch job, or a frozen process holds the queue's lock
            worker = find_worker(run)
            if worker is None:
                raise InputError(f"run {run.id}: is not running")
            if is_held_by(run.lock, worker) is None:
                raise InputError(f"run {run.id}: is running on {worker.host} as process {worker.pid}: stop it there")
            request_stop(run.lock, worker)
        return result or StopResult.REQUESTED

    def wait_until_stopped(self, run: RunDirectory, timeout: float) -> None:
        """Wait until the run has no worker.

        The supervisor signals the workers that it started. If it does not, because it is frozen or has died, this
        process does: after half of a short timeout it asks the worker to stop, and after the timeout it kills it.
        """
        begun = time.monotonic()
        while (worker := find_worker(run)) or self._is_started(run):
            elapsed = time.monotonic() - begun
            if worker and elapsed > timeout + KILL_SECONDS:
                raise InputError(
                    f"run {run.id}: process {worker.pid} on {worker.host} has not ended within {timeout:g} s"
                )
            if not worker and elapsed > max(timeout, SUPERVISOR_SECONDS):
                self._drop_ended(run)
                break
            if worker and elapsed > timeout:
                signal_holder(run.lock, worker, signal.SIGKILL)
            elif worker and (elapsed > min(SUPERVISOR_SECONDS, timeout / 2) or not self._is_started(run)):
                request_stop(run.lock, worker)  # again: a worker that has just started does not handle the signal yet
            time.sleep(0.1)

    def _is_started(self, run: RunDirectory) -> bool:
        queue = read_queue(self.runs_dir)
        return run.id in queue and not queue[run.id].is_waiting

    def _drop_ended(self, run: RunDirectory) -> None:
        """Remove a run that has ended from the queue, in place of a supervisor that does not.

        A run whose worker was not seen yet keeps its entry, and with it the request to stop.
        """

        def drop(queue: Queue) -> Queue:
            return queue if run.id in queue and never_started(run, queue[run.id]) else queue.without([run.id])

        with suppress(LockHeldError):
            update_queue(self.runs_dir, drop, wait=SUPERVISOR_SECONDS)

    def hold(self, run_ids: Collection[str], held: bool) -> None:
        self._pause(lambda queue: self._check_waiting(queue, run_ids).with_changes(run_ids, paused=held), held)

    def pause(self, paused: bool) -> None:
        """Pause or continue the whole queue; started runs continue."""
        self._pause(lambda queue: queue.with_paused(paused), paused)

    def _pause(self, edit: Callable[[Queue], Queue], paused: bool) -> None:
        queue = update_queue(self.runs_dir, edit, adopt=not paused)
        if not paused and queue.entries:
            ensure_supervisor(self.runs_dir)

    def move(self, run_ids: Sequence[str], index: int) -> None:
        """Move waiting runs to `index` in the starting order, with the priority of the run that was there."""
        update_queue(self.runs_dir, lambda queue: _with_moved(self._check_waiting(queue, run_ids), run_ids, index))

    def cancel(self, run_ids: Collection[str]) -> None:
        update_queue(self.runs_dir, lambda queue: self._check_waiting(queue, run_ids).without(run_ids))

    def _check_waiting(self, queue: Queue, run_ids: Collection[str]) -> Queue:
        """Return the queue; raise InputError if one of the runs is not waiting in it."""
        for run_id in run_ids:
            check_waiting(RunDirectory(self.runs_dir, run_id), queue[run_id].is_waiting if run_id in queue else None)
        return queue

    def set_slots(self, slots: Mapping[str, int]) -> None:
        """Set the number of runs at once, by device key, or by "cpu" and "gpu" for all CPUs or GPUs."""
        for device, count in slots.items():
            if not 1 <= count <= MAX_SLOTS:
                raise InputError(f"slots: {device}: expected 1 to {MAX_SLOTS}, got {count}")
        update_queue(self.runs_dir, lambda queue: queue.with_slots({**queue.slots, **slots}))
        ensure_supervisor_if_needed(self.runs_dir)

    def list_runs(self, devices: Sequence[Device] | None = None) -> list[QueueRow]:
        """Return the runs of all users, with the decisions that a supervisor would make now."""
        queue = read_all_queues(self.runs_dir)
        own = only_schedulable(queue, self.runs_dir)
        reasons = {entry.id: f"queued by {entry.user}" for entry in queue.waiting if entry.user}
        if own.waiting:
            devices = list_devices(seconds=0) if devices is None else devices
            decisions = schedule_queue(self.runs_dir, own, devices)
            reasons |= {decision.entry.id: decision.reason for decision in decisions}
        return [
            QueueRow(
                id=entry.id,
                **settings_of_row(find_config(self.runs_dir, entry.id)),
                device=entry.device,
                started_on=entry.device_key,
                position=max(position, 0),
                wait_reason=reasons.get(entry.id, ""),
                options=entry,
                user=entry.user,
                is_paused=entry.paused,
                is_stopping=entry.stop_timeout is not None,
            )
            for position, entry in enumerate([*queue.started, *queue.waiting], 1 - len(queue.started))
        ]

    def describe_problems(self) -> list[str]:
        queue, supervisor = read_queue(self.runs_dir), find_supervisor(self.runs_dir)
        command = shell_command("clarinet", "queue", "continue", runs_dir=self.runs_dir)
        if queue.paused:
            return [f"The queue is paused. Continue it with: {command}"]
        if queue.entries and (origin := queue_origin(self.runs_dir)):
            return [f"The queue belongs to {printable(origin)}. Start its runs here with: {command}"]
        if queue.entries and (supervisor is None or is_unresponsive(supervisor)):
            return [f"No supervisor is running. Start one with: {command}"]
        return []

    def list_devices(self) -> list[Device]:
        return list_devices()


def check_devices_exist(requests: Iterable[str]) -> None:
    """Raise InputError for a requested device that does not exist, before any run fails because of it."""
    devices = list_devices(seconds=0)
    if devices[-1].problem:
        return  # the driver may have recovered when the run starts
    for request in requests:
        match_devices(request, devices)


def _check_not_queued(run: RunDirectory, queue: Queue) -> None:
    """Raise InputError if it is queued, unless its worker and its supervisor were both killed and left the entry."""
    if run.id not in queue:
        return
    is_waiting = queue[run.id].is_waiting
    if is_waiting or find_worker(run) or find_supervisor(run.runs_dir):
        raise InputError(f"run {run.id}: is already {'queued' if is_waiting else 'running'}")


def _with_moved(queue: Queue, ids: Sequence[str], index: int) -> Queue:
    if not ids:
        return queue
    others = [entry for entry in queue.waiting if entry.id not in ids]
    index = max(0, min(index, len(others)))
    neighbour = others[min(index, len(others) - 1)] if others else queue[ids[0]]
    queue = queue.with_changes(ids, priority=neighbour.priority)
    return queue.with_entries([*queue.started, *others[:index], *(queue[run_id] for run_id in ids), *others[index:]])


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
