"""slurm.json: a user's jobs in a runs directory that have not ended. Only the machines where users work write it."""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from clarinet_tui.runs.atomic_files import as_input_error, replace_file
from clarinet_tui.runs.lock import hold_lock
from clarinet_tui.runs.ownership import directory_id, own_path
from clarinet_tui.runs.run_files import UnreadableFileError, read_json
from core.errors import InputError

JOB_FILE, JOB_LOCK = "slurm.json", "slurm.lock"
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
        jobs: Jobs = read_json(path, Jobs) or Jobs()
    except UnreadableFileError as error:
        raise InputError(f"{path}: not a list of Slurm jobs ({error.reason}): move the file away") from None
    if jobs.version > VERSION:
        raise InputError(f"{path}: written by a newer version of Clarinet: update Clarinet")
    return Jobs() if jobs.directory and jobs.directory != directory_id(runs_dir) else jobs


@contextmanager
def lock_jobs(runs_dir: Path, wait: float = LOCK_SECONDS) -> Iterator[None]:
    """Hold the lock of the jobs; raise LockHeldError after `wait` seconds."""
    with hold_lock(own_path(Path(runs_dir), JOB_LOCK), "slurm.json", wait=wait, private=True):
        yield


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
