"""One thread's eyes on the machine: who computes where, what waits and why, which data is here."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from clarinet_tui.devices.local import list_devices
from clarinet_tui.history.database import NAME, Database
from clarinet_tui.history.durations import durations
from clarinet_tui.queue.queue_file import Entry, Queue, read_queue
from clarinet_tui.queue.requests import holder_of
from clarinet_tui.queue.supervisor_process import fed_elsewhere, supervisor
from clarinet_tui.queue.waiting import Waiting
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.process import myself
from clarinet_tui.ui.snapshot.machine import Machine, Place
from core.data.catalogue import catalogue
from core.errors import InputError

if TYPE_CHECKING:
    from clarinet_tui.devices.device import Device
    from clarinet_tui.history.durations import Duration, Kind
    from core.config import RunConfig
    from core.data.catalogue import Entry as DomainEntry

DATA_SECONDS = 10.0
"""Data sets come and go seldom, and are many files."""


class MachineReader:
    """Belongs to one thread. What changes seldom is remembered."""

    def __init__(
        self,
        runs_dir: Path,
        data_dir: Path,
        database: Path | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.runs_dir, self.data_dir, self.database = runs_dir, data_dir, database
        self._clock = clock
        self._waiting = Waiting(runs_dir)
        self._configs: dict[str, RunConfig | None] = {}
        self._domains: tuple[DomainEntry, ...] = ()
        self._looked_at_data = float("-inf")
        self._db: Database | None = None
        self._durations: Mapping[Kind, Duration] = {}
        self._version = -1

    def look(self) -> Machine:
        devices = tuple(list_devices())
        queue = read_queue(self.runs_dir)
        workers = self._workers(queue)
        return Machine(
            devices=devices,
            queue=queue,
            places=tuple(self._places(queue, devices, workers)),
            workers=workers,
            supervised=supervisor(self.runs_dir) is not None,
            fed_on=fed_elsewhere(self.runs_dir),
            host=myself().host,
            domains=self._data(),
            durations=self._known_durations(),
        )

    def close(self) -> None:
        if self._db:
            self._db.close()
        self._db = None

    def _workers(self, queue: Queue) -> dict[int, str]:
        holders = {entry.id: holder_of(RunDirectory(self.runs_dir, entry.id)) for entry in queue.started}
        return {holder.pid: run for run, holder in holders.items() if holder}

    def _places(self, queue: Queue, devices: tuple[Device, ...], workers: Mapping[int, str]) -> list[Place]:
        """As the supervisor decides, from what can be seen from here."""
        decisions = self._waiting.decide(queue, devices, workers)
        why = {decision.entry.id: decision.why for decision in decisions}
        numbers = {entry.id: number for number, entry in enumerate(queue.waiting, start=1)}
        listed = (*queue.started, *queue.waiting)
        self._configs = {entry.id: self._config(entry.id) for entry in listed}
        places = [_place(entry, self._configs[entry.id]) for entry in listed]
        return [replace(one, number=numbers.get(one.id, 0), why=why.get(one.id, "")) for one in places]

    def _config(self, run: str) -> RunConfig | None:
        """A run's settings never change once it is queued."""
        if run not in self._configs:
            try:
                self._configs[run] = RunDirectory(self.runs_dir, run).read_config()
            except InputError:
                self._configs[run] = None
        return self._configs[run]

    def _data(self) -> tuple[DomainEntry, ...]:
        if self._clock() - self._looked_at_data > DATA_SECONDS:
            self._domains = catalogue(self.data_dir)
            self._looked_at_data = self._clock()
        return self._domains

    def _known_durations(self) -> Mapping[Kind, Duration]:
        """Read again only when the history has news; there may be none yet."""
        path = self.database or self.runs_dir / NAME
        if not path.exists():
            self.close()
            return {}
        if self._db is None:
            self._db, self._version = Database.open_read_only(self.runs_dir, path), -1
        self._db.renew()
        version = self._db.rows("PRAGMA data_version")[0][0]
        if version != self._version:
            self._durations, self._version = durations(self._db), version
        return self._durations


def _place(entry: Entry, config: RunConfig | None) -> Place:
    known = Place(entry.id) if config is None else Place(entry.id, config.method, config.task, config.seed)
    stops = entry.stop_within is not None
    return replace(known, device=entry.device, on=entry.on, paused=entry.paused, stops=stops)
