"""Where runs compute: the interface of a place, the options of a launch, and the rows that a place lists.

`clarinet_tui/queue/local.py` is the queue of this machine, `clarinet_tui/slurm/place.py` a cluster with Slurm;
`clarinet_tui/queue/requests.py` finds the place of a run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, StrEnum, auto
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import msgspec

from clarinet_tui.text import format_duration
from core.config import setting_values
from core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from clarinet_tui.devices.device import Device, Partition
    from clarinet_tui.runs.directory import RunDirectory
    from core.config import RunConfig

STOP_TIMEOUT = 60.0
"""Seconds that a run has to save itself before it is killed."""


class PlaceName(StrEnum):
    """The values of `--on`."""

    LOCAL = "local"
    SLURM = "slurm"


class SlurmOptions(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    sbatch: dict[str, str] = {}
    """Options of sbatch without their dashes; an empty value is a flag."""
    setup: str = ""
    """A line of shell that runs on the node before Python, such as `module load cuda`."""
    python: str = ""
    """The command that starts Python on the node; empty for the Python that submits."""
    throttle: int = 0
    """How many runs of an array may run at once; 0 for any number."""
    max_requeues: int = 50
    """How often a run may be requeued after preemptions, time limits and lost nodes."""


class LaunchOptions(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How runs are started, whatever the place; what a place has no counterpart of, it refuses."""

    data_dir: str
    working_directory: str
    """Relative paths in the run's settings start here."""
    priority: int = 0
    paused: bool = False
    share_device: bool = False
    """Whether it may start on a device that other programs use."""
    retries: int = 0
    """How many more times it may restart after it was lost or has failed."""
    on_alarm: tuple[str, ...] = ()
    """The command for its alarms, of the user who queued it and never of the run's settings."""
    on_end: tuple[str, ...] = ()
    """The command for its end, of the user who queued it as well."""
    not_before: float = 0.0
    """The Unix time before which it does not start."""
    after: tuple[str, ...] = ()
    """Runs that have to finish before it starts."""
    time_limit: float = 0.0
    """Seconds after which an attempt is saved and stopped; 0 is none."""
    slurm: SlurmOptions | None = None
    """The options of Slurm jobs; None for this machine."""

    @classmethod
    def from_paths(cls, data_dir: Path, working_directory: Path | None = None, **options: Any) -> LaunchOptions:
        """Return options with absolute paths; the working directory is the current one unless it is given."""
        folder = Path.cwd() if working_directory is None else working_directory.absolute()
        return cls(data_dir=str(data_dir.absolute()), working_directory=str(folder), **options)

    @property
    def on(self) -> PlaceName:
        """The name of the place."""
        return PlaceName.LOCAL if self.slurm is None else PlaceName.SLURM


NO_OPTIONS = LaunchOptions(data_dir="", working_directory="")


class StopResult(Enum):
    REQUESTED = auto()
    """The worker was asked to save and end."""
    DEQUEUED = auto()
    """The run was waiting and has left the queue."""


@dataclass(frozen=True, kw_only=True)
class QueueRow:
    """A run that waits or computes at a place."""

    id: str
    method: str = "?"
    task: str = "?"
    seed: int | None = None
    device: str = "auto"
    started_on: str = ""
    """The key of the device, or the node, on which it was started; empty while it waits."""
    position: int = 0
    """Position among the waiting runs of its place, from 1; 0 once it was started."""
    wait_reason: str = ""
    """Why it waits; empty if it starts next."""
    options: LaunchOptions = NO_OPTIONS
    """Those of its launch, as far as its place keeps them."""
    user: str = ""
    """The user who queued it, if that is another one."""
    job: str = ""
    """Its job, at a place that has jobs of its own."""
    seconds: float | None = None
    """How long it will take, if runs of its kind have finished."""
    is_paused: bool = False
    is_stopping: bool = False
    config: RunConfig | None = field(default=None, hash=False)
    """None if its settings cannot be read."""

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        """All settings by name; empty if they cannot be read."""
        return setting_values(self.config) if self.config else {}

    @property
    def is_waiting(self) -> bool:
        return not self.started_on

    @property
    def waits_for(self) -> str:
        """What it waits for, and how long it may take."""
        limit = f"at most {format_duration(self.options.time_limit)}" if self.options.time_limit else ""
        return "; ".join(filter(None, (self.wait_reason, limit)))


def settings_of_row(config: RunConfig | None) -> dict[str, Any]:
    """Return the fields of a row that show the settings of its run; none if they cannot be read."""
    return (
        {} if config is None else {"method": config.method, "task": config.task, "seed": config.seed, "config": config}
    )


def check_waiting(run: RunDirectory, is_waiting: bool | None) -> None:
    """Raise InputError for a run to hold, move or cancel that is not waiting; None is a run that its place lacks."""
    if is_waiting is None:
        run.check_own("pause, move or cancel")
        raise InputError(f"run {run.id}: is not in the queue")
    if not is_waiting:
        raise InputError(f"run {run.id}: has already started: `clarinet stop {run.id}` stops it")


class Place(Protocol):
    """A place where the runs of one directory compute.

    Any process may call any method at any time, also several at once. What is queued is kept by the place, in files or
    by its scheduler; the object only caches what it has read. Nothing here assumes that a run is a process of this
    machine.

    A user changes only their own runs. `submit`, `resume`, `hold`, `move` and `cancel` change all of the given runs or
    none; they return once the request is recorded, and never wait for a run. No method deletes the directory of a run
    that existed before.

    A request that cannot be met raises `InputError` with one sentence that names the run and what to do:
    a run that the place does not have "is not in the queue", one to hold, move or cancel "has already started", and one
    to resume "is already queued" or "is already running". A place that does not answer raises a subclass of
    `InputError`, but `has`, `list_runs` and `describe_problems` return what was known last.
    """

    name: ClassVar[PlaceName]
    title: ClassVar[str]
    """Its name in a sentence."""
    is_here: ClassVar[bool]
    """Whether its runs compute on this machine: then the app shows them, and their cost is known before they start."""

    def submit(
        self, configs: Sequence[RunConfig], options: LaunchOptions, *, run_id: str | None = None, front: bool = False
    ) -> list[RunDirectory]:
        """Create runs and queue them in this order; if that fails, such as on a full disk, no run is left behind.

        `run_id` is the id of a single run. With `front` they start before all other waiting runs, if the place has an
        order that users decide on.
        """

    def resume(self, runs: Sequence[RunDirectory], options: LaunchOptions, *, device: str | None = None) -> None:
        """Queue existing runs; each continues from its last checkpoint, on this device or on that of its settings."""

    def last_options(self, run: RunDirectory, options: LaunchOptions) -> LaunchOptions | None:
        """Return `options` with what the place kept of the run's last submission; None if that was elsewhere."""

    def preview(self, configs: Sequence[RunConfig], options: LaunchOptions) -> list[str]:
        """Return the commands or scripts that would start new runs; nothing is started."""

    def cores(self, device: str, options: LaunchOptions) -> int | None:
        """Return the cores that a new run gets, for its number of threads; None for all of this machine."""

    def has(self, run_id: str) -> bool:
        """Return whether the run waits or computes here."""

    def check_absent(self, runs: Sequence[RunDirectory]) -> None:
        """Raise InputError if one of the runs waits or computes here."""

    def stop(self, run: RunDirectory, timeout: float = STOP_TIMEOUT) -> StopResult:
        """Ask a run to save and end within `timeout` seconds, after which it is killed; dequeue one that waits."""

    def wait_until_stopped(self, run: RunDirectory, timeout: float) -> None:
        """Wait for a run that was asked to stop; raise InputError if it has not ended some seconds after `timeout`."""

    def hold(self, run_ids: Collection[str], held: bool) -> None:
        """Pause waiting runs, or let them start again."""

    def move(self, run_ids: Sequence[str], index: int) -> None:
        """Move waiting runs to `index` among those that wait here; after the last if there are fewer."""

    def cancel(self, run_ids: Collection[str]) -> None:
        """Remove waiting runs from the queue; their directories stay."""

    def list_runs(self, devices: Sequence[Device] | None = None) -> list[QueueRow]:
        """Return the started runs, then the waiting ones in their order, each with why it waits.

        `devices` are those of `list_devices`, if they have just been listed.
        """

    def describe_problems(self) -> list[str]:
        """Return why waiting runs do not start here at all, with what to do, a sentence each."""

    def list_devices(self) -> Sequence[Device | Partition]:
        """Return the devices of this machine, or the partitions of a cluster."""
