"""A cluster with Slurm as a place: runs are jobs of arrays, and Slurm starts, orders and ends them."""

import shutil
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import ClassVar

import msgspec

from clarinet_tui.devices.device import Device, Partition
from clarinet_tui.place import (
    STOP_TIMEOUT,
    LaunchOptions,
    PlaceName,
    QueueRow,
    SettingsReader,
    SlurmOptions,
    StopResult,
    has_saved,
)
from clarinet_tui.runs.directory import RunDirectory, create_runs
from clarinet_tui.slurm import commands
from clarinet_tui.slurm.attempts import JobEnded, append_event, last_submission
from clarinet_tui.slurm.commands import QueuedJob, SlurmError
from clarinet_tui.slurm.jobs import (
    Job,
    check_no_job,
    describe_wait,
    read_jobs,
    refresh_jobs,
    try_refresh,
    update_jobs,
)
from clarinet_tui.slurm.submission import Submission, read_options
from clarinet_tui.text import printable
from core.config import RunConfig
from core.errors import InputError

POLL = 1.0
KILL_WAIT = 65.0
"""Seconds for Slurm to end a job that was cancelled; its own KillWait is 30 by default."""
PARTITIONS_INTERVAL, PARTITIONS_TIMEOUT = 60.0, 5.0
"""Seconds between two questions for the partitions, which change rarely, and for an answer."""


class SlurmPlace:
    """Jobs of this user; what is listed is at most ten seconds old."""

    name: ClassVar[PlaceName] = PlaceName.SLURM
    title: ClassVar[str] = "Slurm"
    is_here: ClassVar[bool] = False

    def __init__(self, runs_dir: Path) -> None:
        self.runs_dir = Path(runs_dir)
        self._settings = SettingsReader(self.runs_dir)
        self._partitions: list[Partition] = []
        self._partitions_read = float("-inf")

    def submit(
        self, configs: Sequence[RunConfig], options: LaunchOptions, *, run_id: str | None = None, front: bool = False
    ) -> list[RunDirectory]:
        """Create runs and submit them; `front` is ignored, as Slurm orders jobs by their priority."""
        submission, max_size = Submission(self.runs_dir, options), commands.read_max_array_size()
        with create_runs(self.runs_dir, configs, run_id=run_id) as runs:
            submission.submit(runs, configs, max_size)
        return runs

    def resume(self, runs: Sequence[RunDirectory], options: LaunchOptions) -> None:
        configs = [run.read_config() for run in runs]
        Submission(self.runs_dir, options).submit(runs, configs, commands.read_max_array_size())

    def last_options(self, run: RunDirectory, options: LaunchOptions) -> LaunchOptions | None:
        """Return the options of the run's last submission but its dependency: ids of jobs are used again."""
        name = last_submission(run)
        slurm = read_options(self.runs_dir, name) if name else None
        if slurm is None:
            return None
        kept = {key: value for key, value in slurm.sbatch.items() if key != "dependency"}
        return msgspec.structs.replace(options, slurm=msgspec.structs.replace(slurm, sbatch=kept))

    def preview(self, configs: Sequence[RunConfig], options: LaunchOptions) -> list[str]:
        return Submission(self.runs_dir, options).preview(configs)

    def cores(self, device: str, options: LaunchOptions) -> int | None:
        return (options.slurm or SlurmOptions()).cores

    def has(self, run_id: str) -> bool:
        return read_jobs(self.runs_dir).find(run_id) is not None

    def check_absent(self, runs: Sequence[RunDirectory]) -> None:
        check_no_job(runs, refresh_jobs(self.runs_dir, force=True))

    def stop(self, run: RunDirectory, timeout: float = STOP_TIMEOUT) -> StopResult:
        job = refresh_jobs(self.runs_dir, force=True).find(run.id)
        if job is None:
            raise InputError(f"run {run.id}: is not running")
        if job.is_waiting:
            self._cancel([job])
            return StopResult.DEQUEUED
        if job.state != "COMPLETING":
            commands.cancel([job.id], signal="INT")
        stopping = msgspec.structs.replace(job, kill_at=time.time() + timeout)
        update_jobs(self.runs_dir, lambda jobs: jobs.with_jobs([stopping]) if jobs.find(run.id) else jobs)
        return StopResult.REQUESTED

    def wait_until_stopped(
        self,
        run: RunDirectory,
        timeout: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> bool:
        """Wait until the run has no job; Slurm needs up to KillWait seconds to end one that does not save itself."""
        begun = clock()
        while self.has(run.id) and refresh_jobs(self.runs_dir, force=True).find(run.id):
            if clock() - begun > timeout + KILL_WAIT:
                raise InputError(f"run {run.id}: its Slurm job has not ended within {timeout + KILL_WAIT:g} s")
            sleep(POLL)
        return has_saved(run)

    def waiting_jobs(self, run_ids: Collection[str]) -> list[Job]:
        """Return the jobs of these runs; raise InputError if one of them has none, or has started."""
        jobs, listed = [], read_jobs(self.runs_dir)
        for run_id in run_ids:
            job = listed.find(run_id)
            if job is None:
                RunDirectory(self.runs_dir, run_id).check_own("pause, move or cancel")
                raise InputError(f"run {run_id}: is not in the queue")
            if not job.is_waiting:
                raise InputError(f"run {run_id}: has already started: `clarinet stop {run_id}` stops it")
            jobs.append(job)
        return jobs

    def hold(self, run_ids: Collection[str], held: bool) -> None:
        commands.hold([job.id for job in self.waiting_jobs(run_ids)], held)
        refresh_jobs(self.runs_dir, force=True)

    def move(self, run_ids: Sequence[str], index: int) -> None:
        """Move waiting jobs to `index` among the user's own: the jobs behind it get a higher nice value."""
        jobs, waiting = self.waiting_jobs(run_ids), self._waiting_rows()
        for job in jobs:
            if job.id not in waiting:
                raise InputError(f"run {job.run}: cannot be moved: it is paused or starts now")
        moved = [waiting[job.id] for job in jobs]
        others = [row for row in waiting.values() if row not in moved]
        order = [*others[:index], *moved, *others[index:]]
        for nice, job_ids in nice_values(order).items():
            commands.set_nice(job_ids, nice)
        left = self._waiting_rows()
        if [row.id for row in order if row.id in left] != list(left):
            raise InputError(f"run {jobs[0].run}: Slurm keeps its own order here: pause the runs before it instead")
        refresh_jobs(self.runs_dir, force=True)

    def _waiting_rows(self) -> dict[str, QueuedJob]:
        """Return the jobs that wait and are not held, by id, in the order in which Slurm starts them."""
        jobs = {(job.id, job.name) for job in read_jobs(self.runs_dir).jobs}
        rows = (row for row in commands.list_jobs({name for _, name in jobs}) if (row.id, row.name) in jobs)
        waiting = [row for row in rows if row.state == "PENDING" and row.priority]
        return {row.id: row for row in sorted(waiting, key=lambda row: row.order)}

    def cancel(self, run_ids: Collection[str]) -> None:
        self._cancel(self.waiting_jobs(run_ids))

    def _cancel(self, jobs: Sequence[Job]) -> None:
        commands.cancel([job.id for job in jobs])
        for job in jobs:
            ended = JobEnded(time=time.time(), job=job.id, name=job.name, state="CANCELLED")
            append_event(RunDirectory(self.runs_dir, job.run), ended)
        update_jobs(self.runs_dir, lambda table: table.without([job.run for job in jobs]))

    def list_runs(self, devices: Sequence[Device] | None = None) -> list[QueueRow]:
        """Return the runs that have a job; positions are those among the user's own jobs."""
        jobs = sorted(try_refresh(self.runs_dir).jobs, key=lambda job: job.is_waiting)
        return [
            QueueRow(
                id=job.run,
                **self._settings.read(job.run),
                device=self.name,
                started_on="" if job.is_waiting else job.node or self.name,
                position=max(position, 0),
                wait_reason=describe_wait(job) if job.is_waiting else "",
                job=job.id,
                is_paused=job.is_held,
                is_stopping=job.kill_at is not None,
            )
            for position, job in enumerate(jobs, 1 - sum(not job.is_waiting for job in jobs))
        ]

    def describe_problems(self) -> list[str]:
        problem = refresh_jobs(self.runs_dir).problem
        return [printable(problem)] if problem else []

    def list_devices(self) -> list[Partition]:
        """Return the partitions; none where Slurm is not installed or does not answer."""
        if time.monotonic() - self._partitions_read > PARTITIONS_INTERVAL:
            self._partitions_read = time.monotonic()
            try:
                self._partitions = commands.list_partitions(PARTITIONS_TIMEOUT) if shutil.which("sinfo") else []
            except SlurmError:
                self._partitions = []
        return self._partitions


def nice_values(order: Sequence[QueuedJob]) -> dict[int, list[str]]:
    """Return the nice values that bring waiting jobs into this order, with the jobs that need them.

    Values only rise: users may not lower them below 0.
    """
    values: dict[int, list[str]] = {}
    last: QueuedJob | None = None
    for row in order:
        if last is not None and row.order < last.order:
            equal = row._replace(priority=last.priority)
            priority = last.priority - (equal.order < last.order)
            values.setdefault(row.nice + row.priority - priority, []).append(row.id)
            row = row._replace(priority=priority)
        last = row
    return values
