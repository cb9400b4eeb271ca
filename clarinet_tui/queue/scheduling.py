"""Which waiting run starts on which device, and why the others wait."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from clarinet_tui.devices.device import Device
from clarinet_tui.devices.placement import match_devices, unavailable_reason
from clarinet_tui.queue.queue_file import Queue, QueueEntry
from clarinet_tui.runs.directory import RunDirectory, find_worker
from clarinet_tui.runs.stage1 import Stage1Role, stage1_role
from core.errors import InputError


@dataclass(frozen=True)
class Decision:
    """For one waiting run: the device to start on, or the reason to wait."""

    entry: QueueEntry
    device: Device | None = None
    reason: str = ""
    is_impossible: bool = False
    """Whether it can never start, because its device does not exist."""


class Scheduler:
    """Decides for the queue of a runs directory. Caches the runs' stage 1 roles: settings of a run never change."""

    def __init__(self, runs_dir: Path) -> None:
        self._runs_dir = runs_dir
        self._roles: dict[str, Stage1Role | None] = {}

    def schedule(
        self, queue: Queue, devices: Sequence[Device], worker_pids: Collection[int] | None = None
    ) -> list[Decision]:
        """Decide for every waiting run; `worker_pids` are of the started runs, and None looks them up."""
        queued = {entry.id for entry in queue.entries}
        self._roles = {run_id: role for run_id, role in self._roles.items() if run_id in queued}
        started = [RunDirectory(self._runs_dir, entry.id) for entry in queue.started]
        training = [self._role(run.id) for run in started if not run.pseudo_labels.exists()]
        if worker_pids is None:
            worker_pids = {worker.pid for worker in map(find_worker, started) if worker}
        return schedule(
            queue,
            devices,
            worker_pids=worker_pids,
            stage1_roles={entry.id: self._role(entry.id) for entry in queue.waiting},
            stage1_in_progress=[role.signature for role in training if role],
        )

    def _role(self, run_id: str) -> Stage1Role | None:
        if run_id not in self._roles:
            try:
                self._roles[run_id] = stage1_role(RunDirectory(self._runs_dir, run_id).read_config())
            except InputError:
                self._roles[run_id] = None
        return self._roles[run_id]


def schedule(
    queue: Queue,
    devices: Sequence[Device],
    *,
    worker_pids: Collection[int] = (),
    stage1_roles: Mapping[str, Stage1Role | None] | None = None,
    stage1_in_progress: Collection[str] = (),
) -> list[Decision]:
    """Decide in starting order.

    A run that takes the labels of a stage 1 in progress (a set of signatures) would only occupy a device and wait.
    """
    roles = stage1_roles or {}
    in_progress = set(stage1_in_progress)
    used_slots = Counter(entry.device_key for entry in queue.started)
    decisions = []
    for entry in queue.waiting:
        role = roles.get(entry.id)
        needs_labels = role is not None and role.takes_labels and role.signature in in_progress
        decision = _decide(queue, entry, devices, used_slots, worker_pids, needs_labels)
        if decision.device is not None:
            used_slots[decision.device.key] += 1
            if role is not None:
                in_progress.add(role.signature)
        decisions.append(decision)
    return decisions


def _decide(
    queue: Queue,
    entry: QueueEntry,
    devices: Sequence[Device],
    used_slots: Counter[str],
    worker_pids: Collection[int],
    needs_labels: bool,
) -> Decision:
    problem = devices[-1].problem if devices else None
    if problem and entry.device != "cpu":
        # The driver may recover: neither give up nor fall back to the CPU.
        return Decision(entry, reason=problem)
    try:
        candidates = match_devices(entry.device, devices)
    except InputError as error:
        return Decision(entry, reason=str(error), is_impossible=True)
    if queue.paused or entry.paused:
        return Decision(entry, reason="the queue is paused" if queue.paused else "paused")
    if needs_labels:
        return Decision(entry, reason="waits for the stage 1 of another run")
    reasons = []
    for device in candidates:
        if used_slots[device.key] >= queue.slots_for(device.key):
            reasons.append(f"{device.label} has no free slot")
            continue
        reason = None if entry.share_device else unavailable_reason(device, ours=worker_pids)
        if reason is None:
            return Decision(entry, device)
        reasons.append(f"{device.label}: {reason}")
    return Decision(entry, reason="; ".join(reasons))
