"""What this machine does now: devices, queue, data. Frozen, so that threads can hand it over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clarinet_tui.queue.queue_file import Queue

if TYPE_CHECKING:
    from clarinet_tui.devices.device import Device
    from clarinet_tui.history.durations import Duration, Kind
    from core.data.catalogue import Entry as DomainEntry


@dataclass(frozen=True)
class Place:
    """One run in the queue: started, or waiting for something."""

    id: str
    method: str = "?"
    task: str = "?"
    seed: int | None = None
    device: str = "auto"
    """What was asked for."""
    on: str = ""
    """The key of the device that it was started on."""
    number: int = 0
    """Its place among those that wait, from 1; 0 once it was started."""
    why: str = ""
    """What it waits for; empty if it starts next."""
    paused: bool = False
    stops: bool = False
    """Whether it was asked to stop."""

    @property
    def waits(self) -> bool:
        return not self.on


@dataclass(frozen=True)
class Machine:
    """One look at it."""

    devices: tuple[Device, ...] = ()
    queue: Queue = field(default_factory=Queue)
    places: tuple[Place, ...] = ()
    """Started runs first, then those that wait, in the order of starting."""
    workers: Mapping[int, str] = field(default_factory=dict)
    """Which run a process is of."""
    supervised: bool = False
    """Whether somebody feeds the queue."""
    fed_on: str = ""
    """The machine that feeds it, if that is another one."""
    host: str = ""
    domains: tuple[DomainEntry, ...] = ()
    durations: Mapping[Kind, Duration] = field(default_factory=dict)
    problem: str = ""
    """A sentence for the user, if something could not be read."""

    def device(self, key: str) -> Device | None:
        return next((device for device in self.devices if device.key == key), None)

    @property
    def waiting(self) -> tuple[Place, ...]:
        return tuple(place for place in self.places if place.waits)
