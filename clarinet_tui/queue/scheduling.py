"""Which waiting run starts where, and why the others wait."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from clarinet_tui.devices.local import Device, candidates, why_not_free
from clarinet_tui.queue.queue_file import Entry, Queue
from clarinet_tui.runs.stage1 import Part
from core.errors import InputError


@dataclass(frozen=True)
class Decision:
    """For one waiting run: the device to start on, or why it waits, or why it never can start."""

    entry: Entry
    device: Device | None = None
    why: str = ""
    refused: bool = False


def decide(
    queue: Queue,
    devices: Sequence[Device],
    *,
    workers: Collection[int] = (),
    parts: Mapping[str, Part | None] | None = None,
    making: Collection[str] = (),
) -> list[Decision]:
    """In the queue's order. `workers` are the pids of our own runs; `parts` gives each run's part in a shared
    stage 1 and `making` the signatures of those that are being made: who wants one would only hold a device and wait.
    """
    parts = parts or {}
    making = set(making)
    used: dict[str, int] = {}
    for entry in queue.started:
        used[entry.on] = used.get(entry.on, 0) + 1
    decisions = []
    for entry in queue.waiting:
        part = parts.get(entry.id)
        waits = part is not None and part.waits and part.signature in making
        decision = _decide(queue, entry, devices, used, workers, waits)
        if decision.device is not None:
            key = decision.device.key
            used[key] = used.get(key, 0) + 1
            if part is not None:
                making.add(part.signature)
        decisions.append(decision)
    return decisions


def _decide(
    queue: Queue,
    entry: Entry,
    devices: Sequence[Device],
    used: Mapping[str, int],
    workers: Collection[int],
    stage1_is_made: bool,
) -> Decision:
    trouble = devices[-1].trouble if devices else None
    if trouble and entry.device != "cpu":
        return Decision(
            entry, why=trouble
        )  # a driver that fails for a moment is no reason to give up, or to take the CPU
    try:
        possible = candidates(entry.device, devices)
    except InputError as error:
        return Decision(entry, why=str(error), refused=True)
    if queue.paused or entry.paused:
        return Decision(entry, why="the queue is paused" if queue.paused else "paused")
    if stage1_is_made:
        return Decision(entry, why="another run makes its stage 1")
    reasons = []
    for device in possible:
        if used.get(device.key, 0) >= queue.slots_of(device.key):
            reasons.append(f"{device.label} is taken")
            continue
        busy = None if entry.shares else why_not_free(device, ours=workers)
        if busy is None:
            return Decision(entry, device)
        reasons.append(busy)
    return Decision(entry, why="; ".join(reasons))
