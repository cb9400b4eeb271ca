"""slurm.json: a user's jobs in a runs directory that have not ended, followed with one `squeue` for all of them.

Only the machines where users work write the file; the process that looks first asks Slurm, at most once an interval."""

import time
from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractContextManager
from pathlib import Path

import msgspec

from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.files import UnreadableFileError, as_input_error, read_json
from clarinet_tui.runs.journal_writer import append_failure
from clarinet_tui.runs.lock import LockHeldError, hold_lock
from clarinet_tui.runs.ownership import directory_id, own_path
from clarinet_tui.runs.worker_log import quote_last_line
from clarinet_tui.slurm import commands
from clarinet_tui.slurm.attempts import JobEnded, append_event, find_follow_up, is_fresh, read_events
from clarinet_tui.slurm.commands import QueuedJob, SlurmError
from clarinet_tui.text import format_time
from core.errors import InputError
from core.events import Failed, FailureKind
from core.files import replace_file

JOB_FILE, JOB_LOCK = "slurm.json", "slurm.lock"
SUBMISSIONS = ".slurm"
"""The directory in a runs directory with the batch scripts."""
VERSION = 1
LOCK_SECONDS = 30.0
WAITING = frozenset(
    {"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD"}
)
ENDED = frozenset(
    {"BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED"}
    | {"REVOKED", "TIMEOUT"}
)
"""Slurm's states of jobs that wait and of jobs that have ended; jobs in any other state have a worker."""


class Job(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A run's job, as it was when Slurm was last asked."""

    run: str
    id: str
    """Array job and task, such as 123_4; Slurm uses ids again, so the name belongs to it."""
    name: str
    submitted_at: float
    state: str = "PENDING"
    reason: str = ""
    start: float | None = None
    """When it started, or when Slurm expects it to start."""
    node: str = ""
    kill_at: float | None = None
    """When a job that was asked to stop is cancelled."""

    @property
    def is_waiting(self) -> bool:
        return self.state in WAITING

    @property
    def is_held(self) -> bool:
        return self.is_waiting and self.reason.startswith("JobHeld")


class Jobs(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    version: int = VERSION
    directory: int = 0
    """The inode of the runs directory; zero in files of older versions. In a copy, no job belongs to the runs."""
    checked_at: float = 0.0
    """When Slurm was last asked."""
    answered_at: float = 0.0
    """When it last answered."""
    problem: str = ""
    """Why it did not answer."""
    jobs: tuple[Job, ...] = ()
    unfinished: tuple[str, ...] = ()
    """Names of submissions that were begun: if nothing holds the lock of the jobs, they are to be taken back."""

    def find(self, run_id: str) -> Job | None:
        return next((job for job in self.jobs if job.run == run_id), None)

    def without(self, run_ids: Collection[str]) -> "Jobs":
        return msgspec.structs.replace(self, jobs=tuple(job for job in self.jobs if job.run not in run_ids))

    def with_jobs(self, jobs: Collection[Job]) -> "Jobs":
        """Return the jobs with these added, in place of others of the same runs."""
        kept = self.without([job.run for job in jobs])
        return msgspec.structs.replace(kept, jobs=(*kept.jobs, *jobs))


def read_jobs(runs_dir: Path) -> Jobs:
    """Return the jobs; none if there is no file, or one that was copied from another directory."""
    path = own_path(Path(runs_dir), JOB_FILE)
    try:
        jobs = read_json(path, Jobs) or Jobs()
    except UnreadableFileError as error:
        raise InputError(f"{path}: not a list of Slurm jobs ({error.reason}): move the file away") from None
    if jobs.version > VERSION:
        raise InputError(f"{path}: written by a newer version of Clarinet: update Clarinet")
    return Jobs() if jobs.directory and jobs.directory != directory_id(runs_dir) else jobs


def lock_jobs(runs_dir: Path, wait: float = LOCK_SECONDS) -> AbstractContextManager[object]:
    """Hold the lock of the jobs; raise LockHeldError after `wait` seconds."""
    return hold_lock(own_path(Path(runs_dir), JOB_LOCK), "slurm.json", wait=wait, private=True)


def write_jobs(runs_dir: Path, jobs: Jobs) -> None:
    """Replace the jobs; the caller holds their lock."""
    path = own_path(Path(runs_dir), JOB_FILE)
    with as_input_error(path):
        jobs = msgspec.structs.replace(jobs, directory=directory_id(runs_dir))
        replace_file(path, msgspec.json.format(msgspec.json.encode(jobs)) + b"\n")


def update_jobs(runs_dir: Path, edit: Callable[[Jobs], Jobs]) -> Jobs:
    """Read, edit and replace the jobs in one transaction; return the edited jobs."""
    with lock_jobs(runs_dir):
        before = read_jobs(runs_dir)
        after = edit(before)
        if after != before:
            write_jobs(runs_dir, after)
        return after


def refresh_jobs(runs_dir: Path, *, force: bool = False) -> Jobs:
    """Return the jobs, after asking Slurm if the last answer is old; no other process asks meanwhile."""
    jobs = read_jobs(runs_dir)
    if not (jobs.jobs or jobs.unfinished) or (not force and _is_recent(jobs)):
        return jobs
    try:
        with lock_jobs(runs_dir, wait=5.0 if force else 0.0):
            jobs = read_jobs(runs_dir)
            if force or not _is_recent(jobs):
                jobs = _ask(Path(runs_dir), jobs, time.time())
                write_jobs(runs_dir, jobs)
    except LockHeldError:
        return read_jobs(runs_dir)
    return jobs


def _is_recent(jobs: Jobs) -> bool:
    return 0 <= time.time() - jobs.checked_at < (60.0 if jobs.problem else 10.0)


def _ask(runs_dir: Path, jobs: Jobs, now: float) -> Jobs:
    try:
        for name in jobs.unfinished:  # its sender died, or could not reach the controller to take it back
            commands.cancel_named(name)
        names = {job.name for job in jobs.jobs}
        queued = {row.id: row for row in (commands.list_jobs(names) if names else [])}
    except SlurmError as error:
        return msgspec.structs.replace(jobs, checked_at=now, problem=str(error))
    forgotten = [job.id for job in jobs.jobs if _find_row(job, queued) is None]
    states = commands.read_final_states(forgotten) if forgotten else {}
    left = []
    for job in jobs.jobs:
        row = _find_row(job, queued)
        if row is not None and row.state not in ENDED:
            job = msgspec.structs.replace(job, state=row.state, reason=row.reason, start=row.start, node=row.node)
            left.append(job)
        elif following := _settle(runs_dir, job, row.state if row else states.get((job.id, job.name), ""), now):
            left.append(following)
    left.sort(key=lambda job: queued[job.id].order if job.is_waiting and job.id in queued else ())
    overdue = [job.id for job in left if job.kill_at is not None and now >= job.kill_at and job.state != "COMPLETING"]
    if overdue:
        commands.cancel(overdue)
    for name in names - {job.name for job in left}:  # the options of an ended submission stay, for `resume`
        for path in (runs_dir / SUBMISSIONS / name).glob("*-*.log"):
            path.unlink(missing_ok=True)
    return Jobs(checked_at=now, answered_at=now, jobs=tuple(left))


def _find_row(job: Job, queued: dict[str, QueuedJob]) -> QueuedJob | None:
    """Return the job's row; Slurm uses ids again, but not with the random name and an earlier time."""
    row = queued.get(job.id)
    if row is None or row.name != job.name:
        return None
    is_earlier = row.submitted is not None and row.submitted < job.submitted_at - 300.0  # clocks may differ
    return None if is_earlier else row


def _settle(runs_dir: Path, job: Job, state: str, now: float) -> Job | None:
    """Record the end of a job; return the job that follows it, or the same one while its worker still lives.

    Holding the run's lock shows that the worker is gone, and leaves the run lost if its journal did not end.
    """
    run = RunDirectory(runs_dir, job.run)
    state = state if state in ENDED else ""  # accounts of jobs that Slurm has lost stay open
    if not run.config.exists():
        return None
    if follow_up := find_follow_up(read_events(run), job.id):
        return Job(run=run.id, id=follow_up.job, name=follow_up.name, submitted_at=follow_up.time)
    if is_fresh(run.slurm_lease):
        return job
    try:
        with run.hold_lock():
            if state not in ("", "CANCELLED", "COMPLETED") and not run.journal.exists():
                message = f"Slurm job {job.id} ended as {state} before the worker wrote to its journal"
                message += quote_last_line(run)
                append_failure(run.journal, Failed(iteration=0, message=message, kind=FailureKind.NOT_STARTED))
            append_event(run, JobEnded(time=now, job=job.id, name=job.name, state=state))
    except LockHeldError:
        return job
    return None


def describe_wait(job: Job) -> str:
    """Return why a job waits, such as `Priority, from 14:05`; one that is held is not expected to start."""
    reason = job.reason or job.state.lower()
    if not job.start or job.is_held:
        return reason
    is_soon = abs(job.start - time.time()) < 43_200
    expected = time.strftime("%H:%M", time.localtime(job.start)) if is_soon else format_time(job.start)
    return f"{reason}, from {expected}"


def try_refresh(runs_dir: Path) -> Jobs:
    """Return the jobs as `refresh_jobs`; none if the file is damaged, which commands that change it report."""
    try:
        return refresh_jobs(runs_dir)
    except (InputError, OSError):
        return Jobs()


def check_no_job(runs: Iterable[RunDirectory], jobs: Jobs) -> None:
    """Raise InputError if one of the runs has a job."""
    for run in runs:
        if job := jobs.find(run.id):
            state = "queued" if job.is_waiting else "running"
            raise InputError(f"run {run.id}: is already {state} as Slurm job {job.id}")
