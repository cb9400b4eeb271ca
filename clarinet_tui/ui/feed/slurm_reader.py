"""Reads the jobs on Slurm and its partitions."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from clarinet_tui.slurm.commands import Partition, SlurmError, list_partitions
from clarinet_tui.slurm.jobs import describe_wait, try_refresh
from clarinet_tui.ui.snapshot.machine import QueueRow

if TYPE_CHECKING:
    from clarinet_tui.slurm.jobs import Job
    from core.config import RunConfig

INTERVAL = 60.0
"""Seconds between two questions for the partitions, which change rarely."""
TIMEOUT = 5.0


class SlurmReader:
    """Used by one thread."""

    def __init__(self, runs_dir: Path, clock: Callable[[], float]) -> None:
        self._runs_dir, self._clock = runs_dir, clock
        self._partitions: tuple[Partition, ...] = ()
        self._read_at = float("-inf")

    def read_rows(self, read_config: Callable[[str], RunConfig | None]) -> list[QueueRow]:
        """Return the runs that have a job: started ones first, then those that wait."""
        jobs = sorted(try_refresh(self._runs_dir).jobs, key=lambda job: job.is_waiting)
        return [_make_row(job, read_config(job.run)) for job in jobs]

    def read_partitions(self) -> tuple[Partition, ...]:
        """Return the partitions; none where Slurm is not installed or does not answer."""
        if self._clock() - self._read_at > INTERVAL:
            self._read_at = self._clock()
            try:
                self._partitions = tuple(list_partitions(TIMEOUT)) if shutil.which("sinfo") else ()
            except SlurmError:
                self._partitions = ()
        return self._partitions


def _make_row(job: Job, config: RunConfig | None) -> QueueRow:
    return QueueRow(
        job.run,
        config.method if config else "?",
        config.task if config else "?",
        config.seed if config else None,
        device="slurm",
        started_on="" if job.is_waiting else job.node or "slurm",
        wait_reason=describe_wait(job) if job.is_waiting else "",
        is_paused=job.is_held,
        is_stopping=job.kill_at is not None,
    )
