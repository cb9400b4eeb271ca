"""The state of a device and of the processes on it."""

from dataclasses import dataclass


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
    """Permanent: "cpu" or the GPU's UUID."""
    label: str
    """As torch numbers devices in this process: "cpu", "cuda:0"."""
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
    processes: tuple[DeviceProcess, ...] | None = ()
    problem: str | None = None
    """What is wrong with it; for the CPU, why no GPU can be used."""

    @property
    def is_gpu(self) -> bool:
        return self.key != "cpu"
