"""Which waiting run starts on which device, and why the others wait."""

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
        """Decide for every waiting run; the started runs' workers are looked up unless their pids are given."""
        queued = {entry.id for entry in queue.entries}
        self._roles = {run_id: role for run_id, role in self._roles.items() if run_id in queued}
        training = [self._role(entry.id) for entry in queue.started if not self._has_labels(entry.id)]
        return schedule(
            queue,
            devices,
            worker_pids=self._find_pids(queue) if worker_pids is None else worker_pids,
            stage1_roles={entry.id: self._role(entry.id) for entry in queue.waiting},
            stage1_in_progress=[role.signature for role in training if role],
        )

    def _find_pids(self, queue: Queue) -> set[int]:
        workers = (find_worker(RunDirectory(self._runs_dir, entry.id)) for entry in queue.started)
        return {worker.pid for worker in workers if worker}

    def _has_labels(self, run_id: str) -> bool:
        return RunDirectory(self._runs_dir, run_id).pseudo_labels.exists()

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

    A run that takes the labels of a stage 1 in progress, given by its signature, would only occupy a device and wait.
    """
    roles = stage1_roles or {}
    in_progress = set(stage1_in_progress)
    used: dict[str, int] = {}
    for entry in queue.started:
        used[entry.device_key] = used.get(entry.device_key, 0) + 1
    decisions = []
    for entry in queue.waiting:
        role = roles.get(entry.id)
        needs_labels = role is not None and role.takes_labels and role.signature in in_progress
        decision = _decide(queue, entry, devices, used, worker_pids, needs_labels)
        if decision.device is not None:
            key = decision.device.key
            used[key] = used.get(key, 0) + 1
            if role is not None:
                in_progress.add(role.signature)
        decisions.append(decision)
    return decisions


def _decide(
    queue: Queue,
    entry: QueueEntry,
    devices: Sequence[Device],
    used: Mapping[str, int],
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
        if used.get(device.key, 0) >= queue.slots_for(device.key):
            reasons.append(f"{device.label} has no free slot")
            continue
        reason = None if entry.share_device else unavailable_reason(device, ours=worker_pids)
        if reason is None:
            return Decision(entry, device)
        reasons.append(f"{device.label}: {reason}")
    return Decision(entry, reason="; ".join(reasons))
