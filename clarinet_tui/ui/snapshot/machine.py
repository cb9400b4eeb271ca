"""Devices, queue and data sets of this machine. Immutable, for use by several threads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clarinet_tui.queue.queue_file import Queue

if TYPE_CHECKING:
    from clarinet_tui.devices.device import Device
    from clarinet_tui.slurm.commands import Partition
    from core.data.catalogue import DomainStatus


@dataclass(frozen=True)
class QueueRow:
    """One run in the queue, started or waiting."""

    id: str
    method: str = "?"
    task: str = "?"
    seed: int | None = None
    preset: str = ""
    device: str = "auto"
    """The requested device."""
    started_on: str = ""
    """The key of the device on which it was started; empty while it waits."""
    position: int = 0
    """Position among the waiting runs, from 1; 0 once it was started."""
    wait_reason: str = ""
    """Why it waits; empty if it starts next."""
    time_limit: float = 0.0
    """Seconds that an attempt may take; 0 is no limit."""
    seconds: float | None = None
    """How long it will take, if runs of its kind have finished."""
    is_paused: bool = False
    is_stopping: bool = False
    """Whether a stop was requested."""

    @property
    def is_waiting(self) -> bool:
        return not self.started_on


@dataclass(frozen=True)
class MachineSnapshot:
    """What was read at one time."""

    devices: tuple[Device, ...] = ()
    queue: Queue = field(default_factory=Queue)
    queue_rows: tuple[QueueRow, ...] = ()
    """Started runs first, then waiting runs in queue order."""
    workers: Mapping[int, str] = field(default_factory=dict)
    """The run of each worker process."""
    has_supervisor: bool = False
    """Whether a supervisor is running."""
    supervisor_host: str = ""
    """The machine of the supervisor, if it is another one."""
    host: str = ""
    partitions: tuple[Partition, ...] = ()
    """The partitions of Slurm; none without Slurm."""
    domains: tuple[DomainStatus, ...] = ()
    problem: str = ""
    """An error message, if something could not be read."""

    def find_device(self, key: str) -> Device | None:
        return next((device for device in self.devices if device.key == key), None)

    @property
    def waiting(self) -> tuple[QueueRow, ...]:
        return tuple(row for row in self.queue_rows if row.is_waiting)
