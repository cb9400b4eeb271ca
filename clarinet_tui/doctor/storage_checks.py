"""Checks of `clarinet doctor` on the runs directory: disk space, file system, locks, clock, history, supervisor."""

import fcntl
import os
import re
import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from clarinet_tui.doctor.machine_checks import CheckResult
from clarinet_tui.history.database import explain_errors
from clarinet_tui.history.migrations import check_schema
from clarinet_tui.history.schema import MIGRATIONS
from clarinet_tui.history.trash import TRASH
from clarinet_tui.queue.queue_file import QUEUE_LOCK, read_queue
from clarinet_tui.queue.supervisor import (
    SUPERVISOR_LOCK,
    SUPERVISOR_LOG,
    UNRESPONSIVE_AFTER,
    find_supervisor,
    is_unresponsive,
)
from clarinet_tui.runs.directory import list_runs
from clarinet_tui.runs.disk_use import DiskUse, disk_use
from clarinet_tui.runs.ownership import own_path
from clarinet_tui.slurm.jobs import JOB_LOCK, read_jobs
from clarinet_tui.text import format_count
from core.errors import InputError

LOW_SPACE, TOO_LITTLE_SPACE = 5 * 10**9, 200 * 10**6
"""Bytes of free disk space below which the check warns and fails."""
SHARED = frozenset(
    {"9p", "afs", "beegfs", "ceph", "cifs", "gpfs", "lustre", "nfs", "nfs4", "smb3", "smbfs"}
    | {"fuse.ceph", "fuse.glusterfs", "fuse.sshfs"}
)
"""Network file systems, on which SQLite's locks and shared memory do not work between machines."""
MAX_CLOCK_OFFSET = 5.0


def nearest_existing(path: Path) -> Path:
    """Return the path itself, or the closest parent that exists."""
    path = path.absolute()
    return next(folder for folder in (path, *path.parents) if os.access(folder, os.F_OK))


def check_free_space(runs_dir: Path, free: int) -> CheckResult:
    message = f"{free / 1e9:.1f} GB free for {runs_dir}"
    if free < TOO_LITTLE_SPACE:
        return CheckResult("disk space", "bad", message, "free some: runs pause while the disk is full")
    if free < LOW_SPACE:
        return CheckResult("disk space", "warning", message, "free some soon")
    return CheckResult("disk space", "good", message)


def check_runs_size(runs_dir: Path) -> CheckResult:
    """For information: what all runs take, and how much of it could be freed."""
    sizes = [disk_use(run.path) for run in list_runs(runs_dir)]
    use = sum(sizes, DiskUse())
    advice = 'set checkpoints = "none" for runs that need not be resumed' if use.checkpoints > LOW_SPACE else ""
    return CheckResult("runs", "good", f"{format_count(len(sizes), 'run')}: {use}", advice)


def free_bytes(path: Path) -> int:
    """Return the bytes that are free for users."""
    status = os.statvfs(nearest_existing(path))
    return status.f_bavail * status.f_frsize


def check_file_system(runs_dir: Path, database: Path, mounts: str) -> CheckResult:
    """Only the database needs a local disk: each journal has one writer."""
    runs, history = file_system(runs_dir, mounts), file_system(database, mounts)
    if history in SHARED:
        message = f"the history is on {history}, where SQLite cannot be shared safely"
        return CheckResult("file system", "warning", message, "set --db or CLARINET_DB to a path on a local disk")
    other = "" if runs == history else f", and the history on {history or 'an unknown file system'}"
    return CheckResult("file system", "good", f"{runs or 'unknown'}{other}")


def file_system(path: Path, mounts: str) -> str:
    """Return the type of the path's file system from /proc/self/mountinfo; empty if unknown."""
    folder = nearest_existing(path).resolve()
    depth, name = -1, ""
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split(" ")
        if len(fields) < 5 or not after:
            continue
        point = Path(re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields[4]))
        # A later mount hides an earlier mount at the same path.
        if folder.is_relative_to(point) and len(point.parts) >= depth:
            depth, name = len(point.parts), after.split(" ")[0]
    return name


def read_mount_table() -> str:
    try:
        return Path("/proc/self/mountinfo").read_text(errors="replace")
    except OSError:
        return ""


def check_writing(runs_dir: Path) -> CheckResult:
    """Write a file there and lock it twice: the second lock must be refused."""
    name, folder = "writing", nearest_existing(runs_dir)
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".doctor-") as file:
            file.write(b"x")
            file.flush()
            os.fsync(file.fileno())
            fcntl.flock(file, fcntl.LOCK_EX)
            if _can_be_locked(Path(file.name)):
                message = f"{folder}: locks have no effect: two workers could train one run"
                advice = "use a --runs-dir on another disk, or mount this one with locks"
                return CheckResult(name, "bad", message, advice)
    except OSError as error:
        message = f"{folder}: {error.strerror or error}"
        return CheckResult(name, "bad", message, "use a --runs-dir where you can write and lock files")
    created = "" if runs_dir.exists() else f"; the first run creates {runs_dir.name} there"
    return CheckResult(name, "good", f"{folder} can be written and locked{created}")


def _can_be_locked(path: Path) -> bool:
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def check_clock(runs_dir: Path, now: Callable[[], float] = time.time) -> CheckResult:
    """Run states depend on the times of files: the disk's clock must agree with ours."""
    try:
        with tempfile.NamedTemporaryFile(dir=nearest_existing(runs_dir), prefix=".doctor-") as file:
            file.write(b"x")
            file.flush()
            offset = os.fstat(file.fileno()).st_mtime - now()
    except OSError:
        return CheckResult("clock", "warning", "not compared: the runs directory cannot be written")
    if abs(offset) <= MAX_CLOCK_OFFSET:
        return CheckResult("clock", "good", "agrees with the disk's clock")
    message = f"the disk's clock is {abs(offset):.0f} s {'ahead of' if offset > 0 else 'behind'} ours"
    return CheckResult("clock", "warning", message, "synchronise the clocks of both machines with NTP")


def check_database(path: Path) -> CheckResult:
    """Check the database's pages and schema without changing it."""
    if not os.access(path, os.F_OK):
        message = f"{path}: does not exist yet; it is built from the run directories when needed"
        return CheckResult("history", "good", message)
    uri = f"{path.absolute().as_uri()}?mode=ro"
    try:
        with explain_errors(path), closing(sqlite3.connect(uri, uri=True)) as connection:
            applied = check_schema(connection, path)
            (result,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except InputError as error:
        return CheckResult("history", "bad", str(error))
    if result != "ok":
        advice = "clarinet reindex rebuilds it from the run directories"
        return CheckResult("history", "bad", f"{path}: {result}", advice)
    if len(applied) < len(MIGRATIONS):
        return CheckResult("history", "warning", f"{path}: has an older schema", "clarinet ls updates it")
    return CheckResult("history", "good", f"{path}: intact, schema {applied[-1]}")


def check_queue(runs_dir: Path) -> CheckResult:
    """Read the queue and the Slurm jobs, and look for files of other users that have the names of this user's."""
    try:
        for name in (QUEUE_LOCK, SUPERVISOR_LOCK, SUPERVISOR_LOG, JOB_LOCK, TRASH):
            own_path(runs_dir, name)
        entries, jobs = read_queue(runs_dir).entries, read_jobs(runs_dir).jobs
    except InputError as error:
        return CheckResult("queue", "bad", str(error))
    sent = f", {format_count(len(jobs), 'run')} sent to Slurm" if jobs else ""
    return CheckResult("queue", "good", f"{format_count(len(entries), 'run')} waiting or started{sent}")


def check_supervisor(runs_dir: Path) -> CheckResult:
    """For information: the supervisor starts when runs are queued and ends when none is left."""
    try:
        owner = find_supervisor(runs_dir)
    except InputError as error:
        return CheckResult("supervisor", "bad", str(error))
    if owner is None:
        return CheckResult("supervisor", "good", "not running: it starts with the first queued run")
    if is_unresponsive(owner):
        message = f"process {owner.pid} on {owner.host} has not responded for {UNRESPONSIVE_AFTER:g} s"
        return CheckResult("supervisor", "bad", message, "clarinet queue continue replaces it; runs continue")
    return CheckResult("supervisor", "good", f"process {owner.pid} on {owner.host}")
