"""A lock between nodes that needs no flock: a file that names its host, and that its owner touches while it lives.

Some network file systems keep the locks of each node to themselves. Creating a file is exclusive on all of them.
"""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from clarinet_tui.runs.atomic_files import as_input_error, create_file, modified_time
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.lock import LockHeldError
from clarinet_tui.runs.run_files import UnreadableFileError, read_file
from clarinet_tui.text import printable, shorten

MAX_BYTES = 4096
TOUCH_SECONDS = 10.0
STALE_SECONDS = 60.0
"""An owner that has not touched its lease for so long is dead."""


@dataclass(frozen=True)
class SlurmJob:
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

    def touch(self) -> None:
        with suppress(OSError):
            os.utime(self._file)
        self.check()

    def check(self) -> None:
        try:
            self.is_taken |= not os.path.samestat(os.fstat(self._file), self._path.stat())
        except FileNotFoundError:
            self.is_taken = True
        except OSError:
            return  # the file system cannot be reached now


def lease_path(run: RunDirectory) -> Path:
    return run.path / "slurm.lease"


def check_lease(run: RunDirectory, owner: str) -> None:
    """Raise LockHeldError while another owner touches the run's lease."""
    path = lease_path(run)
    if is_fresh(path) and (holder := read_owner(path)) != _format_owner(owner):
        raise LockHeldError(f"run {run.id}", holder)


@contextmanager
def hold_lease(run: RunDirectory, owner: str, touch_seconds: float = TOUCH_SECONDS) -> Iterator[Lease]:
    """Hold the run's lease, or raise LockHeldError while another owner touches it."""
    path = lease_path(run)
    file = _create(path, owner)
    if file is None and not is_fresh(path):
        _remove_stale(path)
        file = _create(path, owner)
    if file is None:
        raise LockHeldError(f"run {run.id}", read_owner(path))
    lease, over = Lease(path, file), threading.Event()
    thread = threading.Thread(target=_touch, args=(lease, over, touch_seconds), name="lease", daemon=True)
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


def is_fresh(path: Path, stale_seconds: float = STALE_SECONDS) -> bool:
    """Return whether the lease was touched a short time ago by the clock of the file system."""
    touched = modified_time(path)
    return bool(touched) and _file_system_time(path.parent) - touched < stale_seconds


def read_owner(path: Path) -> str:
    try:
        content = read_file(path, MAX_BYTES) or b""
    except UnreadableFileError:
        content = b""
    return _format_owner(content.decode(errors="replace")) or "another node"


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


def _remove_stale(path: Path) -> None:
    """Move the stale lease away: of two nodes that try, one succeeds."""
    moved = path.with_name(f".{path.name}.{os.getpid()}.{time.time_ns()}")
    with suppress(OSError):
        path.rename(moved)
        moved.unlink()


def _file_system_time(folder: Path) -> float:
    """Return the time by the clock of the file server, which may differ from that of this machine."""
    probe = folder / f".clock.{os.getpid()}.{time.time_ns()}"
    try:
        os.close(create_file(probe))
        return modified_time(probe)
    except OSError:
        return time.time()
    finally:
        with suppress(OSError):
            probe.unlink()


def _touch(lease: Lease, over: threading.Event, seconds: float) -> None:
    while not over.wait(seconds):
        lease.touch()
