"""What `clarinet doctor` looks at where runs are kept: room, file system, locks, clock, history, supervisor."""

import fcntl
import os
import re
import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from clarinet_tui.doctor.machine import Check
from clarinet_tui.history.database import explained
from clarinet_tui.history.migrations import check_schema
from clarinet_tui.history.schema import MIGRATIONS
from clarinet_tui.queue.supervisor_process import supervisor
from core.errors import InputError

ENOUGH, TOO_LITTLE = 5 * 10**9, 200 * 10**6
"""Bytes."""
SHARED = frozenset(
    {"9p", "afs", "beegfs", "ceph", "cifs", "gpfs", "lustre", "nfs", "nfs4", "smb3", "smbfs"}
    | {"fuse.ceph", "fuse.glusterfs", "fuse.sshfs"}
)
"""File systems that other machines write to as well, where SQLite's locks and shared memory do not hold."""
CLOCK_SECONDS = 5.0


def nearest(path: Path) -> Path:
    """The path itself, or the folder in which it would be made."""
    path = path.absolute()
    return next(folder for folder in (path, *path.parents) if os.access(folder, os.F_OK))


def check_room(runs_dir: Path, free: int) -> Check:
    said = f"{free / 1e9:.1f} GB free for {runs_dir}"
    if free < TOO_LITTLE:
        return Check("room", "bad", said, "make room: runs wait when the disk is full")
    return Check("room", "warning" if free < ENOUGH else "good", said, "make room soon" if free < ENOUGH else "")


def free_bytes(path: Path) -> int:
    """What is left for users."""
    told = os.statvfs(nearest(path))
    return told.f_bavail * told.f_frsize


def check_file_system(runs_dir: Path, database: Path, mounts: str) -> Check:
    """Journals may be anywhere, as each has one writer; the database may not."""
    runs, history = file_system(runs_dir, mounts), file_system(database, mounts)
    if history in SHARED:
        said = f"the history would be on {history}, where SQLite cannot be shared safely"
        return Check("file system", "warning", said, "give --db or CLARINET_DB a path on a local disk")
    beside = "" if runs == history else f", and the history on {history or 'an unknown one'}"
    return Check("file system", "good", f"{runs or 'unknown'}{beside}")


def file_system(path: Path, mounts: str) -> str:
    """The kind of the file system that holds the path, by /proc/self/mountinfo; empty where that is not known."""
    where = nearest(path).resolve()
    best, kind = -1, ""
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split(" ")
        if len(fields) < 5 or not after:
            continue
        point = Path(re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields[4]))
        # What is mounted later hides what was there before.
        if where.is_relative_to(point) and len(point.parts) >= best:
            best, kind = len(point.parts), after.split(" ")[0]
    return kind


def read_mounts() -> str:
    try:
        return Path("/proc/self/mountinfo").read_text(errors="replace")
    except OSError:
        return ""


def check_writing(runs_dir: Path) -> Check:
    """Writes a file there and locks it twice: the second one has to be refused."""
    name, folder = "writing", nearest(runs_dir)
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".doctor-") as file:
            file.write(b"x")
            file.flush()
            os.fsync(file.fileno())
            fcntl.flock(file, fcntl.LOCK_EX)
            if _can_be_locked(Path(file.name)):
                said = f"{folder}: locks do not hold, so that two workers could train one run"
                return Check(name, "bad", said, "keep runs on another disk (--runs-dir), or mount this one with locks")
    except OSError as error:
        said = f"{folder}: {error.strerror or error}"
        return Check(name, "bad", said, "keep runs where you may write and lock files (--runs-dir)")
    made = "" if runs_dir.exists() else "; the first run makes its folder there"
    return Check(name, "good", f"{folder} can be written and locked{made}")


def _can_be_locked(path: Path) -> bool:
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def check_clock(runs_dir: Path, now: Callable[[], float] = time.time) -> Check:
    """States are told by the times of files: those must be ours."""
    try:
        with tempfile.NamedTemporaryFile(dir=nearest(runs_dir), prefix=".doctor-") as file:
            file.write(b"x")
            file.flush()
            off = os.fstat(file.fileno()).st_mtime - now()
    except OSError:
        return Check("clock", "warning", "not compared: the runs' folder cannot be written")
    if abs(off) <= CLOCK_SECONDS:
        return Check("clock", "good", "the disk's and ours agree")
    said = f"the disk's clock is {abs(off):.0f} s {'ahead of' if off > 0 else 'behind'} ours"
    return Check("clock", "warning", said, "set the clocks by NTP on both machines")


def check_database(path: Path) -> Check:
    """Its pages and its schema, without changing it."""
    if not os.access(path, os.F_OK):
        return Check("history", "good", f"{path}: not there yet; it is made from the runs when it is needed")
    try:
        with explained(path), closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            applied = check_schema(connection, path)
            (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except InputError as error:
        return Check("history", "bad", str(error))
    if found != "ok":
        return Check("history", "bad", f"{path}: {found}", "clarinet reindex makes it anew from the runs")
    if len(applied) < len(MIGRATIONS):
        return Check("history", "warning", f"{path}: of an older version", "clarinet ls brings it up to date")
    return Check("history", "good", f"{path}: whole, schema {applied[-1]}")


def check_supervisor(runs_dir: Path) -> Check:
    """For information: it comes when runs are queued and goes when none is left."""
    holder = supervisor(runs_dir)
    if holder is None:
        return Check("supervisor", "good", "not running: it comes with the first run in the queue")
    return Check("supervisor", "good", f"process {holder.pid} on {holder.host}")
