"""Reads the machine: devices and their processes, the queue with the reason why each run waits, and the data sets."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from clarinet_tui.devices.local import list_devices
from clarinet_tui.devices.placement import match_devices
from clarinet_tui.history.database import Database, OutdatedHistoryError, database_path
from clarinet_tui.queue.queue_file import Queue, QueueEntry, only_schedulable, read_all_queues
from clarinet_tui.queue.scheduling import Scheduler
from clarinet_tui.queue.supervisor import find_supervisor, queue_origin
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.lock import current_process, find_worker
from clarinet_tui.ui.feed.slurm_reader import SlurmReader
from clarinet_tui.ui.snapshot.machine import MachineSnapshot, QueueRow
from core.data.catalogue import list_domains
from core.errors import InputError

if TYPE_CHECKING:
    from clarinet_tui.devices.device import Device
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
        self._scheduler = Scheduler(runs_dir)
        self._configs: dict[str, RunConfig | None] = {}
        self._slurm = SlurmReader(runs_dir, clock)
        self._domains: tuple[DomainStatus, ...] = ()
        self._data_read = float("-inf")
        self._db: Database | None = None
        self._seconds: Mapping[str, float] = {}
        self._estimated: object = None
        """What the estimates were made from."""

    def read(self) -> MachineSnapshot:
        devices = tuple(list_devices())
        queue = read_all_queues(self.runs_dir)
        workers = self._find_workers(queue)
        rows = self._make_rows(queue, devices, workers)
        seconds = self._estimate_seconds(rows, devices)
        rows = [replace(row, seconds=seconds.get(row.id)) for row in rows]
        return MachineSnapshot(
            devices=devices,
            queue=queue,
            queue_rows=(*rows, *self._slurm.read_rows(self._read_config)),
            workers=workers,
            has_supervisor=find_supervisor(self.runs_dir) is not None,
            supervisor_host=queue_origin(self.runs_dir),
            host=current_process().host,
            partitions=self._slurm.read_partitions(),
            domains=self._read_data(),
        )

    def close(self) -> None:
        if self._db:
            self._db.close()
        self._db = None

    def _find_workers(self, queue: Queue) -> dict[int, str]:
        owners = {entry.id: find_worker(RunDirectory(self.runs_dir, entry.id)) for entry in queue.started}
        return {owner.pid: run for run, owner in owners.items() if owner}

    def _make_rows(self, queue: Queue, devices: tuple[Device, ...], workers: Mapping[int, str]) -> list[QueueRow]:
        """Make the queue's rows, with the decisions that a supervisor would make now."""
        decisions = self._scheduler.schedule(only_schedulable(queue, self.runs_dir), devices, workers)
        reasons = {entry.id: f"queued by {entry.user}" for entry in queue.waiting if entry.user}
        reasons |= {decision.entry.id: decision.reason for decision in decisions}
        positions = {entry.id: number for number, entry in enumerate(queue.waiting, start=1)}
        listed = (*queue.started, *queue.waiting)
        rows = [_make_row(entry, self._read_config(entry.id)) for entry in listed]
        return [replace(row, position=positions.get(row.id, 0), wait_reason=reasons.get(row.id, "")) for row in rows]

    def _read_config(self, run: str) -> RunConfig | None:
        """Read a run's config once: it does not change while the run is queued."""
        if run not in self._configs:
            try:
                self._configs[run] = RunDirectory(self.runs_dir, run).read_config()
            except InputError:
                self._configs[run] = None
        return self._configs[run]

    def _read_data(self) -> tuple[DomainStatus, ...]:
        if self._clock() - self._data_read > DATA_SECONDS:
            self._domains = list_domains(self.data_dir)
            self._data_read = self._clock()
        return self._domains

    def _estimate_seconds(self, rows: Sequence[QueueRow], devices: tuple[Device, ...]) -> Mapping[str, float]:
        """Estimate the waiting runs of which finished runs are known, again only after one of the two has changed."""
        waiting = [row for row in rows if row.is_waiting and self._read_config(row.id)]
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


def _row_of(run: str, config: RunConfig) -> QueueRow:
    return QueueRow(run, config.method, config.task, config.seed, config.preset)


def _make_row(entry: QueueEntry, config: RunConfig | None) -> QueueRow:
    row = QueueRow(entry.id) if config is None else _row_of(entry.id, config)
    return replace(
        row,
        device=entry.device,
        started_on=entry.device_key,
        time_limit=entry.time_limit,
        is_paused=entry.paused,
        is_stopping=entry.stop_timeout is not None,
    )
