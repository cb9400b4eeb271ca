"""Stop, hold, release, move and cancel the jobs of runs."""

import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import msgspec

from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.slurm import commands
from clarinet_tui.slurm.attempts import JobEnded, append_event, last_submission
from clarinet_tui.slurm.commands import QueuedJob
from clarinet_tui.slurm.jobs import Job, Jobs, read_jobs, refresh_jobs, update_jobs
from clarinet_tui.slurm.options import SlurmOptions
from clarinet_tui.slurm.submission import read_options
from core.errors import InputError

POLL = 1.0
KILL_WAIT = 60.0
"""Seconds for Slurm to end a job that was cancelled; its own KillWait is 30 by default."""


def find_job(run: RunDirectory) -> Job | None:
    """Return the run's job, as it was when Slurm was last asked."""
    return read_jobs(run.runs_dir).find(run.id)


def stop(run: RunDirectory, timeout: float) -> bool | None:
    """Ask a run to save and end, or cancel its job if that waits: then return False. None if it has no job."""
    job = refresh_jobs(run.runs_dir, force=True).find(run.id) if find_job(run) else None
    if job is None:
        return None
    if job.is_waiting:
        cancel(run.runs_dir, [job])
        return False
    if job.state != "COMPLETING":
        commands.cancel([job.id], signal="INT")
    stopping = msgspec.structs.replace(job, kill_at=time.time() + timeout)
    update_jobs(run.runs_dir, lambda jobs: jobs.with_jobs([stopping]) if jobs.find(run.id) else jobs)
    return True


def cancel(runs_dir: Path, jobs: Sequence[Job]) -> None:
    """Cancel waiting jobs; their runs stay."""
    commands.cancel([job.id for job in jobs])
    for job in jobs:
        ended = JobEnded(time=time.time(), job=job.id, name=job.name, state="CANCELLED")
        append_event(RunDirectory(runs_dir, job.run), ended)
    update_jobs(runs_dir, lambda table: table.without([job.run for job in jobs]))


def hold(runs_dir: Path, jobs: Sequence[Job], held: bool) -> None:
    """Hold waiting jobs, or release them."""
    commands.hold([job.id for job in jobs], held)
    refresh_jobs(runs_dir, force=True)


def move(runs_dir: Path, jobs: Sequence[Job], index: int) -> None:
    """Move waiting jobs to `index` among the user's own: the jobs behind it get a higher nice value."""
    waiting = _waiting_rows(runs_dir)
    moved = [row for job in jobs if (row := waiting.get(job.id))]
    for job in jobs:
        if job.id not in waiting:
            raise InputError(f"run {job.run}: cannot be moved: it is paused or starts now")
    others = [row for row in waiting.values() if row not in moved]
    order = [*others[:index], *moved, *others[index:]]
    for nice, job_ids in nice_values(order).items():
        commands.set_nice(job_ids, nice)
    if [row.id for row in order if row.id in (left := _waiting_rows(runs_dir))] != list(left):
        raise InputError(f"run {jobs[0].run}: Slurm keeps its own order here: pause the runs before it instead")
    refresh_jobs(runs_dir, force=True)


def _waiting_rows(runs_dir: Path) -> dict[str, QueuedJob]:
    """Return the jobs that wait and are not held, by id, in the order in which Slurm starts them."""
    jobs = {(job.id, job.name) for job in read_jobs(runs_dir).jobs}
    rows = (row for row in commands.list_jobs({name for _, name in jobs}) if (row.id, row.name) in jobs)
    waiting = [row for row in rows if row.state == "PENDING" and row.priority]
    return {row.id: row for row in sorted(waiting, key=lambda row: row.order)}


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


def wait_until_ended(
    run: RunDirectory,
    timeout: float,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Wait until the run has no job; Slurm needs up to KillWait seconds to end one that does not save itself."""
    begun = clock()
    while find_job(run) and refresh_jobs(run.runs_dir, force=True).find(run.id):
        if clock() - begun > timeout + KILL_WAIT:
            raise InputError(f"run {run.id}: its Slurm job has not ended within {timeout + KILL_WAIT:g} s")
        sleep(POLL)


def waiting_jobs(runs_dir: Path, run_ids: Collection[str]) -> list[Job]:
    """Return the jobs of those of these runs that have one; raise InputError if one of them has started."""
    table = read_jobs(runs_dir)
    jobs = [job for run_id in run_ids if (job := table.find(run_id))]
    for job in jobs:
        if not job.is_waiting:
            raise InputError(f"run {job.run}: has already started: `clarinet stop {job.run}` stops it")
    return jobs


def last_options(run: RunDirectory) -> SlurmOptions | None:
    """Return the options of the run's last submission but its dependency; None if it was never on Slurm."""
    name = last_submission(run)
    options = read_options(run.runs_dir, name) if name else None
    if options is None:
        return None
    kept = {key: value for key, value in options.sbatch.items() if key != "dependency"}  # ids are used again
    return msgspec.structs.replace(options, sbatch=kept)


def check_no_job(run: RunDirectory, jobs: Jobs) -> None:
    """Raise InputError if the run has a job."""
    if job := jobs.find(run.id):
        raise InputError(f"run {run.id}: is already {'queued' if job.is_waiting else 'running'} as Slurm job {job.id}")
