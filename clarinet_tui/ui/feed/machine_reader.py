"""Reads the machine: devices and their processes, the queue with the reason why each run waits, and the data sets."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from clarinet_tui.devices.device import Device, Partition, match_devices
from clarinet_tui.history.database import Database, OutdatedHistoryError, database_path
from clarinet_tui.history.queries import varied_settings
from clarinet_tui.place import QueueRow
from clarinet_tui.queue.queue_file import read_all_queues
from clarinet_tui.queue.requests import places
from clarinet_tui.queue.supervisor import find_supervisor, queue_origin
from clarinet_tui.runs.directory import RunDirectory, find_config, find_worker
from clarinet_tui.runs.lock import current_process
from clarinet_tui.ui.snapshot.machine import MachineSnapshot
from core.config import RunConfig
from core.data.digit_domains import DomainStatus, list_domains
from core.errors import InputError

DATA_SECONDS = 10.0
"""Interval for data sets, which are many files and change rarely."""


class MachineReader:
    """Used by one thread. Keeps what changes rarely."""

    def __init__(self, runs_dir: Path, data_dir: Path, database: Path | None = None) -> None:
        self.runs_dir, self.data_dir, self.database = runs_dir, data_dir, database
        self._places = places(runs_dir)
        self._domains: tuple[DomainStatus, ...] = ()
        self._data_read = float("-inf")
        self._configs: list[RunConfig | None] = []
        self._varied: tuple[str, ...] = ()
        self._seconds: dict[str, float] = {}
        self._estimated: object = None
        """What the estimates were made from."""

    def read(self) -> MachineSnapshot:
        queue = read_all_queues(self.runs_dir)
        listed = [device for place in self._places for device in place.list_devices()]
        devices = tuple(device for device in listed if isinstance(device, Device))
        rows = [row for place in self._places for row in place.list_runs(devices)]
        seconds = self._estimate_seconds(rows, devices)
        if time.monotonic() - self._data_read > DATA_SECONDS:
            self._domains, self._data_read = list_domains(self.data_dir), time.monotonic()
        owners = {entry.id: find_worker(RunDirectory(self.runs_dir, entry.id)) for entry in queue.started}
        return MachineSnapshot(
            devices=devices,
            queue=queue,
            queue_rows=tuple(replace(row, seconds=seconds.get(row.id)) for row in rows),
            varied=self._find_varied(rows),
            workers={owner.pid: run for run, owner in owners.items() if owner},
            has_supervisor=find_supervisor(self.runs_dir) is not None,
            supervisor_host=queue_origin(self.runs_dir),
            host=current_process().host,
            partitions=tuple(device for device in listed if isinstance(device, Partition)),
            domains=self._domains,
        )

    def _find_varied(self, rows: Sequence[QueueRow]) -> tuple[str, ...]:
        """Return the settings that differ, compared again only after the runs have changed."""
        configs = [row.config for row in rows]
        if configs != self._configs:
            self._configs, self._varied = configs, tuple(varied_settings(rows))
        return self._varied

    def _estimate_seconds(self, rows: Sequence[QueueRow], devices: tuple[Device, ...]) -> Mapping[str, float]:
        """Estimate the waiting runs of which finished runs are known, again only after one of the two has changed."""
        here = [row for row in rows if row.is_waiting and not row.job]
        configs = {row.id: config for row in here if (config := find_config(self.runs_dir, row.id))}
        waiting = [row for row in here if row.id in configs]
        path = self.database or database_path(self.runs_dir)
        if not waiting or not path.exists():
            return {}
        try:
            database = Database.open_read_only(self.runs_dir, path)
        except OutdatedHistoryError:  # the history feed rebuilds it
            return {}
        with database:
            finished = database.tuples("SELECT count(*), max(ended) FROM runs WHERE state = 'finished'")
            basis = finished, [(row.id, row.device) for row in waiting]
            if basis != self._estimated:
                from clarinet_tui.analysis.run_estimate import Estimator

                self._seconds, self._estimated = {}, basis
                for on_gpu in (False, True):
                    chosen = {row.id: configs[row.id] for row in waiting if _uses_gpu(row.device, devices) == on_gpu}
                    estimates = Estimator(database, self.data_dir, on_gpu=on_gpu).estimate_all(chosen.values())
                    known = zip(chosen, estimates, strict=True)
                    self._seconds |= {run: one.seconds for run, one in known if one and one.runs}
        return self._seconds


def _uses_gpu(request: str, devices: Sequence[Device]) -> bool:
    try:
        return any(device.is_gpu for device in match_devices(request, devices))
    except InputError:  # a device that was removed
        return False
