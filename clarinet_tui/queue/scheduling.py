"""Which waiting run starts on which device, and why the others wait: for a device, a time, or other runs."""

import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from clarinet_tui.devices.device import NEEDED, Device, match_devices, memory_of_runs, unavailable_reason
from clarinet_tui.queue.queue_file import Queue, QueueEntry
from clarinet_tui.runs.directory import RunDirectory, find_config, find_worker
from clarinet_tui.runs.journal import read_last_event
from clarinet_tui.runs.memory_peaks import read_memory_peak
from clarinet_tui.runs.stage1 import Stage1Role, stage1_role
from clarinet_tui.runs.state import FINAL_EVENTS, RunState
from clarinet_tui.text import format_time
from core.errors import InputError


def waiting_reason(entry: QueueEntry, queue: Queue, runs_dir: Path, now: float | None = None) -> str | None:
    """Return why the run may not start yet; None if only a device is missing."""
    if entry.not_before > (time.time() if now is None else now):
        return f"until {format_time(entry.not_before)}"
    for run_id in entry.after:
        if run_id in queue:
            return f"run {run_id}"
        state = None
        with suppress(InputError, OSError):
            state = (read_last_event(RunDirectory(runs_dir, run_id).journal) or {}).get("event")
        if state != RunState.FINISHED:
            return f"run {run_id}, which {f'is {state}' if state in FINAL_EVENTS else 'has not ended'}"
    return None


class Decision(NamedTuple):
    """For one waiting run: the device to start on, or the reason to wait."""

    entry: QueueEntry
    device: Device | None = None
    reason: str = ""
    is_impossible: bool = False
    """Whether it can never start, because its device does not exist."""


def schedule_queue(
    runs_dir: Path, queue: Queue, devices: Sequence[Device], worker_pids: Collection[int] | None = None
) -> list[Decision]:
    """Decide for every waiting run; `worker_pids` are of the started runs, and None looks them up."""
    configs = {entry.id: config for entry in queue.entries if (config := find_config(runs_dir, entry.id))}
    roles = {run_id: stage1_role(config) for run_id, config in configs.items()}
    started = [RunDirectory(runs_dir, entry.id) for entry in queue.started]
    training = [roles.get(run.id) for run in started if not run.pseudo_labels.exists()]
    if worker_pids is None:
        worker_pids = {worker.pid for worker in map(find_worker, started) if worker}
    on_gpus = configs if any(device.is_gpu for device in devices) else {}
    peaks = {run_id: read_memory_peak(runs_dir, config) for run_id, config in on_gpus.items()}
    return schedule(
        queue,
        devices,
        worker_pids=worker_pids,
        memory_needs={run_id: peak for run_id, peak in peaks.items() if peak},
        stage1_roles=roles,
        stage1_in_progress=[role.signature for role in training if role],
        waiting_reasons={entry.id: waiting_reason(entry, queue, runs_dir) for entry in queue.waiting},
    )


def schedule(
    queue: Queue,
    devices: Sequence[Device],
    *,
    worker_pids: Collection[int] = (),
    memory_needs: Mapping[str, int] = {},
    stage1_roles: Mapping[str, Stage1Role | None] = {},
    stage1_in_progress: Collection[str] = (),
    waiting_reasons: Mapping[str, str | None] = {},
) -> list[Decision]:
    """Decide in starting order.

    A run that takes the labels of a stage 1 in progress (a set of signatures) would only occupy a device and wait.
    """
    in_progress = set(stage1_in_progress)
    occupancy = Occupancy(queue, worker_pids, memory_needs)
    decisions = []
    for entry in queue.waiting:
        role = stage1_roles.get(entry.id)
        needs_labels = role is not None and role.reuses_labels and role.signature in in_progress
        reason = waiting_reasons.get(entry.id) or ("the stage 1 of another run" if needs_labels else None)
        decision = occupancy.decide(entry, devices, reason)
        if decision.device is not None:
            occupancy.add(entry, decision.device.key)
            if role is not None:
                in_progress.add(role.signature)
        decisions.append(decision)
    return decisions


class Occupancy:
    """The runs on each device, and the memory that they will have when they are at their peak."""

    def __init__(self, queue: Queue, worker_pids: Collection[int], memory_needs: Mapping[str, int]) -> None:
        self._queue, self._worker_pids, self._memory_needs = queue, worker_pids, memory_needs
        self._runs: Counter[str] = Counter()
        self._memory: Counter[str] = Counter()
        for entry in queue.started:
            self.add(entry, entry.device_key)

    def add(self, entry: QueueEntry, device_key: str) -> None:
        self._runs[device_key] += 1
        self._memory[device_key] += self._memory_needs.get(entry.id, NEEDED)

    def order(self, device: Device) -> tuple[bool, int, bool]:
        """Sort first by health, then by the number of runs: free GPUs are filled before any gets a second run."""
        is_suspect = device.key in self._queue.failed_devices or device.memory_errors > 0
        return is_suspect, self._runs[device.key], device.throttling is not None

    def refusal(self, device: Device, entry: QueueEntry) -> str | None:
        """Return why the run cannot start on the device now."""
        if self._runs[device.key] >= self._queue.slots_for(device.key):
            return f"{device.label} has no free slot"
        used = memory_of_runs(device, self._worker_pids)
        used = (device.memory_used or 0) if used is None else used  # unlisted use counts as theirs
        reason = unavailable_reason(
            device,
            ours=self._worker_pids,
            runs=self._runs[device.key],
            needed=self._memory_needs.get(entry.id, NEEDED),
            reserved=max(0, self._memory[device.key] - used),
            share=entry.share_device,
        )
        return reason and f"{device.label}: {reason}"

    def decide(self, entry: QueueEntry, devices: Sequence[Device], waits: str | None) -> Decision:
        problem = devices[-1].problem if devices else None
        if problem and entry.device != "cpu":
            # The driver may recover: neither give up nor fall back to the CPU.
            return Decision(entry, reason=problem)
        try:
            candidates = match_devices(entry.device, devices)
        except InputError as error:
            return Decision(entry, reason=str(error), is_impossible=True)
        if self._queue.paused or entry.paused:
            return Decision(entry, reason="the queue is paused" if self._queue.paused else "paused")
        if waits is not None:
            return Decision(entry, reason=waits)
        refusals = [self.refusal(device, entry) for device in candidates]
        free = [device for device, refusal in zip(candidates, refusals, strict=True) if refusal is None]
        if free:
            return Decision(entry, min(free, key=self.order))
        return Decision(entry, reason="; ".join(filter(None, refusals)))
