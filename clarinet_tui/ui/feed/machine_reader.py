"""Reads the machine: devices and their processes, the queue with the reason why each run waits, and the data sets."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from clarinet_tui.devices.device import Device, Partition
from clarinet_tui.devices.placement import match_devices
from clarinet_tui.history.database import Database, OutdatedHistoryError, database_path
from clarinet_tui.queue.queue_file import read_all_queues
from clarinet_tui.queue.requests import places
from clarinet_tui.queue.supervisor import find_supervisor, queue_origin
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.lock import current_process, find_worker
from clarinet_tui.ui.snapshot.machine import MachineSnapshot
from core.data.catalogue import list_domains
from core.errors import InputError

if TYPE_CHECKING:
    from clarinet_tui.place import QueueRow
    from core.config import RunConfig
    from core.data.catalogue import DomainStatus

DATA_SECONDS = 10.0
"""Interval for data sets, which are many files and change rarely."""


class MachineReader:
    """Used by one thread. Keeps what changes rarely."""

    def __init__(
        self, runs_dir: Path, data_dir: Path, database: Path | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.runs_dir, self.data_dir, self.database = runs_dir, data_dir, database
        self._clock = clock
        self._places = places(runs_dir)
        self._configs: dict[str, RunConfig | None] = {}
        self._domains: tuple[DomainStatus, ...] = ()
        self._data_read = float("-inf")
        self._db: Database | None = None
        self._seconds: Mapping[str, float] = {}
        self._estimated: object = None
        """What the estimates were made from."""

    def read(self) -> MachineSnapshot:
        queue = read_all_queues(self.runs_dir)
        listed = [device for place in self._places for device in place.list_devices()]
        devices = tuple(device for device in listed if isinstance(device, Device))
        rows = [row for place in self._places for row in place.list_runs(devices)]
        seconds = self._estimate_seconds(rows, devices)
        if self._clock() - self._data_read > DATA_SECONDS:
            self._domains = list_domains(self.data_dir)
            self._data_read = self._clock()
        owners = {entry.id: find_worker(RunDirectory(self.runs_dir, entry.id)) for entry in queue.started}
        return MachineSnapshot(
            devices=devices,
            queue=queue,
            queue_rows=tuple(replace(row, seconds=seconds.get(row.id)) for row in rows),
            workers={owner.pid: run for run, owner in owners.items() if owner},
            has_supervisor=find_supervisor(self.runs_dir) is not None,
            supervisor_host=queue_origin(self.runs_dir),
            host=current_process().host,
            partitions=tuple(device for device in listed if isinstance(device, Partition)),
            domains=self._domains,
        )

    def close(self) -> None:
        if self._db:
            self._db.close()
        self._db = None

    def _read_config(self, run: str) -> RunConfig | None:
        """Read a run's config once: it does not change while the run is queued."""
        if run not in self._configs:
            try:
                self._configs[run] = RunDirectory(self.runs_dir, run).read_config()
            except InputError:
                self._configs[run] = None
        return self._configs[run]

    def _estimate_seconds(self, rows: Sequence[QueueRow], devices: tuple[Device, ...]) -> Mapping[str, float]:
        """Estimate the waiting runs of which finished runs are known, again only after one of the two has changed."""
        waiting = [row for row in rows if row.is_waiting and not row.job and self._read_config(row.id)]
        database = self._open_database() if waiting else None
        if database is None:
            return {}
        finished = database.tuples("SELECT count(*), max(ended) FROM runs WHERE state = 'finished'")
        basis = finished, [(row.id, row.device) for row in waiting]
        if basis != self._estimated:
            by_kind: dict[bool, list[QueueRow]] = {}
            for row in waiting:
                by_kind.setdefault(_uses_gpu(row.device, devices), []).append(row)
            self._seconds = {
                run: seconds
                for on_gpu, kind in by_kind.items()
                for run, seconds in self._estimate_kind(database, [row.id for row in kind], on_gpu)
            }
            self._estimated = basis
        return self._seconds

    def _estimate_kind(self, database: Database, runs: Sequence[str], on_gpu: bool) -> Iterator[tuple[str, float]]:
        from clarinet_tui.analysis.run_estimate import Estimator

        configs = {run: config for run in runs if (config := self._read_config(run))}
        estimates = Estimator(database, self.data_dir, on_gpu=on_gpu).estimate_all(configs.values())
        for run, estimate in zip(configs, estimates, strict=True):
            if estimate and estimate.runs:
                yield run, estimate.seconds

    def _open_database(self) -> Database | None:
        path = self.database or database_path(self.runs_dir)
        if not path.exists():
            self.close()
            return None
        try:
            if self._db is None:
                self._db = Database.open_read_only(self.runs_dir, path)
            self._db.reopen_if_replaced()
        except OutdatedHistoryError:  # the history feed rebuilds it
            self.close()
        return self._db


def _uses_gpu(request: str, devices: Sequence[Device]) -> bool:
    try:
        return any(device.is_gpu for device in match_devices(request, devices))
    except InputError:  # a device that was removed
        return False
