"""What the nodes write into a run's directory: the attempts (slurm.jsonl), and the lease of the one that trains it.

The lease is a lock between nodes that needs no flock: a file that names its host, and that its owner touches while it
lives. Some network file systems keep the locks of each node to themselves. Creating a file is exclusive on all of them.
"""

import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

import msgspec

from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.files import UnreadableFileError, append_line, as_input_error, modified_time, read_end, read_file
from clarinet_tui.runs.lock import LockHeldError
from clarinet_tui.text import format_count, printable, shorten
from core.files import create_file

MAX_BYTES = 4 << 20
MAX_UNSAVED_ATTEMPTS = 3
"""Attempts in a row that saved nothing new, after which a run is not requeued."""


class AttemptStarted(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="started"):
    time: float
    job: str
    name: str
    node: str
    checkpoint: float
    """When the checkpoint was written from which it continues; 0 without one."""


class AttemptEnded(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="ended"):
    time: float
    exit_code: int
    """Of the worker; negative for the number of the signal that ended it."""
    outcome: str
    """finished, failed, stopped, requeued, given up, or ended by Slurm."""


class FollowUp(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="submitted"):
    """A job that continues the run, where the node may not requeue its own."""

    time: float
    job: str
    name: str


class JobEnded(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="job"):
    """How Slurm says that a job ended; the state is empty if Slurm has forgotten it."""

    time: float
    job: str
    name: str
    state: str


class Attempt(NamedTuple):
    """One attempt, from its start to its end."""

    job: str
    node: str
    started: float
    ended: float | None
    outcome: str
    """That of AttemptEnded; empty if the attempt has not ended, or if its node could not write that it did."""


AttemptEvent = AttemptStarted | AttemptEnded | FollowUp | JobEnded
_decoder: "msgspec.json.Decoder[AttemptEvent]" = msgspec.json.Decoder(AttemptEvent)


def append_event(run: RunDirectory, event: AttemptEvent) -> None:
    append_line(run.slurm_attempts, msgspec.to_builtins(event))


def read_events(run: RunDirectory) -> list[AttemptEvent]:
    """Return the events of the run's attempts; lines that cannot be read are left out."""
    try:
        content = read_file(run.slurm_attempts, MAX_BYTES) or b""
    except UnreadableFileError:
        return []
    events = []
    for line in content.splitlines():
        with suppress(msgspec.DecodeError):
            events.append(_decoder.decode(line))
    return events


def list_attempts(run: RunDirectory) -> list[Attempt]:
    """Return the run's attempts on Slurm in order."""
    attempts: list[Attempt] = []
    for event in read_events(run):
        if isinstance(event, AttemptStarted):
            attempts.append(Attempt(event.job, event.node, event.time, None, ""))
        elif isinstance(event, AttemptEnded) and attempts:
            attempts[-1] = attempts[-1]._replace(ended=event.time, outcome=event.outcome)
    return attempts


def describe_limit(events: Sequence[AttemptEvent], checkpoint: float, max_requeues: int) -> str:
    """Return why the run must not start again; empty if it may."""
    attempts = [event for event in events[_last_end(events) + 1 :] if isinstance(event, AttemptStarted)]
    if len(attempts) > max_requeues:
        return f"it has had {format_count(len(attempts), 'attempt')} on Slurm, and max-requeues is {max_requeues}"
    unsaved = len(list(takewhile(lambda attempt: attempt.checkpoint == checkpoint, reversed(attempts))))
    return f"its last {unsaved} attempts on Slurm saved nothing new" if unsaved >= MAX_UNSAVED_ATTEMPTS else ""


def count_failures(events: Sequence[AttemptEvent]) -> int:
    """Return how many attempts have failed since the user submitted the run."""
    recent = events[_last_end(events) + 1 :]
    return sum(isinstance(event, AttemptEnded) and event.outcome == "failed" for event in recent)


def find_follow_up(events: Sequence[AttemptEvent], job_id: str) -> FollowUp | None:
    """Return the job that continues the run after this one."""
    last = next((event for event in reversed(events) if isinstance(event, FollowUp | JobEnded)), None)
    return last if isinstance(last, FollowUp) and last.job != job_id else None


def last_submission(run: RunDirectory) -> str:
    """Return the name of the run's last job on Slurm; empty if it had none."""
    return next((event.name for event in reversed(read_events(run)) if not isinstance(event, AttemptEnded)), "")


def _last_end(events: Sequence[AttemptEvent]) -> int:
    """Return the index of the last job that ended for good: a later one was submitted by the user."""
    return max((index for index, event in enumerate(events) if isinstance(event, JobEnded)), default=-1)


STALE_SECONDS = 60.0
"""An owner that has not touched its lease for this time is dead."""


class SlurmJob(NamedTuple):
    """This job, as its environment describes it."""

    array_job: str
    task: str
    name: str
    node: str

    @classmethod
    def current(cls) -> "SlurmJob":
        names = ("SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_JOB_NAME", "SLURMD_NODENAME")
        return cls(*(os.environ.get(name, "") for name in names))

    @property
    def id(self) -> str:
        return f"{self.array_job}_{self.task}"

    @property
    def owner(self) -> str:
        """What the lease contains while this job holds it."""
        return f"Slurm job {self.id} on {self.node}"


class Lease:
    """A lease that this process holds, until another one finds it stale."""

    def __init__(self, path: Path, file: int) -> None:
        self._path, self._file = path, file
        self.is_taken = False
        """Whether another owner has it: this node could not reach the file system for a minute, or was frozen."""

    def check(self) -> None:
        try:
            self.is_taken |= not os.path.samestat(os.fstat(self._file), self._path.stat())
        except FileNotFoundError:
            self.is_taken = True
        except OSError:
            return  # the file system cannot be reached now


def check_lease(run: RunDirectory, owner: str) -> None:
    """Raise LockHeldError while another owner touches the run's lease."""
    if is_fresh(run.slurm_lease) and (holder := read_owner(run.slurm_lease)) != _format_owner(owner):
        raise LockHeldError(f"run {run.id}", holder)


@contextmanager
def hold_lease(run: RunDirectory, owner: str, touch_seconds: float = 10.0) -> Iterator[Lease]:
    """Hold the run's lease, or raise LockHeldError while another owner touches it."""
    path = run.slurm_lease
    file = _create(path, owner)
    if file is None and not is_fresh(path):
        moved = path.with_name(f".{path.name}.{os.getpid()}.{time.time_ns()}")
        with suppress(OSError):  # of two nodes that move the stale lease away, one succeeds
            path.rename(moved)
            moved.unlink()
        file = _create(path, owner)
    if file is None:
        raise LockHeldError(f"run {run.id}", read_owner(path))
    lease, over = Lease(path, file), threading.Event()

    def touch() -> None:
        while not over.wait(touch_seconds):
            with suppress(OSError):
                os.utime(file)
            lease.check()

    thread = threading.Thread(target=touch, name="lease", daemon=True)
    thread.start()
    try:
        yield lease
    finally:
        over.set()
        thread.join()
        lease.check()
        if not lease.is_taken:
            with suppress(OSError):
                path.unlink()
        os.close(file)


def is_fresh(path: Path) -> bool:
    """Return whether the lease was touched a short time ago by the clock of the file server."""
    touched = modified_time(path)
    if not touched:
        return False
    probe = path.with_name(f".clock.{os.getpid()}.{time.time_ns()}")
    try:
        os.close(create_file(probe))
        return modified_time(probe) - touched < STALE_SECONDS
    except OSError:
        return time.time() - touched < STALE_SECONDS
    finally:
        with suppress(OSError):
            probe.unlink()


def read_owner(path: Path) -> str:
    return _format_owner(read_end(path, 4096).decode(errors="replace")) or "another node"


def _format_owner(text: str) -> str:
    return shorten(printable(text.strip()), 80)


def _create(path: Path, owner: str) -> int | None:
    """Return the descriptor of a new lease; None if there is one already."""
    with as_input_error(path):
        try:
            file = create_file(path)
        except FileExistsError:
            return None
        os.write(file, f"{owner}\n".encode())
    return file
