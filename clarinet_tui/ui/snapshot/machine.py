"""Devices, queue and data sets of this machine. Immutable, for use by several threads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clarinet_tui.queue.queue_file import Queue

if TYPE_CHECKING:
    from clarinet_tui.devices.device import Device, Partition
    from clarinet_tui.place import QueueRow
    from core.data.digit_domains import DomainStatus


@dataclass(frozen=True)
class MachineSnapshot:
    """What was read at one time."""

    devices: tuple[Device, ...] = ()
    queue: Queue = field(default_factory=Queue)
    queue_rows: tuple[QueueRow, ...] = ()
    """Started runs first, then waiting runs in queue order."""
    varied: tuple[str, ...] = ()
    """The settings that differ among the runs of the queue."""
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
