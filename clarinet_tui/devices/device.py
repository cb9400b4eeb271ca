"""The state of a device and of the processes on it, and of a cluster's partition."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class ComputeMode(StrEnum):
    """How many processes the driver admits to a GPU."""

    DEFAULT = "default"
    EXCLUSIVE = "exclusive"
    PROHIBITED = "prohibited"


@dataclass(frozen=True, kw_only=True)
class DeviceProcess:
    """A process on a GPU. What is unknown is None."""

    pid: int
    owner: str | None = None
    command: str | None = None
    memory: int | None = None
    """Bytes of the GPU's memory."""
    computes: bool = True
    """False if it only draws, as a desktop does."""


@dataclass(frozen=True, kw_only=True)
class Device:
    """The state of a GPU or the CPU. What the driver does not report is None."""

    key: str
    """Permanent: "cpu" or the UUID of a GPU or of an instance of one (MIG)."""
    label: str
    """As torch numbers devices in this process: "cpu", "cuda:0". The second instance of a divided GPU is "cuda:0:1"."""
    name: str
    cores: int | None = None
    """Cores of the CPU that this process may use."""
    memory_total: int | None = None
    memory_used: int | None = None
    """In bytes."""
    utilization: float | None = None
    """In percent."""
    temperature: int | None = None
    """In degrees Celsius."""
    power: float | None = None
    """In watts."""
    energy: float | None = None
    """Joules that it has used since its driver was loaded."""
    compute_mode: ComputeMode = ComputeMode.DEFAULT
    memory_errors: int = 0
    """Uncorrected memory errors (ECC) since its driver was loaded."""
    throttling: str | None = None
    """Why it is slowed down, such as "heat"."""
    driver: str | None = None
    """The version of its driver."""
    processes: tuple[DeviceProcess, ...] | None = ()
    problem: str | None = None
    """What is wrong with it; for the CPU, why no GPU can be used."""
    note: str | None = None
    """For the CPU: which GPU of the machine the installed torch cannot use."""

    @property
    def kind(self) -> str:
        """Torch's type of it: "cpu", "cuda" (also for AMD), "xpu" or "mps"."""
        return self.label.partition(":")[0]

    @property
    def is_gpu(self) -> bool:
        return self.key != "cpu"

    @property
    def warning(self) -> str | None:
        """What does not stop a run from starting, but may slow it down or end it."""
        if self.memory_errors:
            errors = f"{self.memory_errors} uncorrected memory error{'' if self.memory_errors == 1 else 's'}"
            return f"{errors} (ECC) since its driver was loaded: reset it"
        return f"slowed down by {self.throttling}" if self.throttling else None


class Partition(NamedTuple):
    """A partition of a Slurm cluster: its name, whether it is up, its time limit, its nodes by state, and its CPUs."""

    name: str
    is_default: bool
    available: str
    time_limit: str
    nodes: str
    """Allocated, idle, other and total nodes, such as 1/3/0/4."""
    cpus: str
    gres: str
