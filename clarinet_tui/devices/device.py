"""What a device is, in plain numbers."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Process:
    """Somebody's process on a GPU. What may not be seen from here is None."""

    pid: int
    owner: str | None = None
    command: str | None = None
    memory: int | None = None
    """In bytes, on the GPU."""
    computes: bool = True
    """False if it only draws, as a desktop does."""


@dataclass(frozen=True, kw_only=True)
class Device:
    """A GPU or the CPU at one moment. What the driver does not tell is None."""

    key: str
    """The same for ever: "cpu", or the GPU's UUID."""
    label: str
    """As torch counts here and now: "cpu", "cuda:0"."""
    name: str
    cores: int | None = None
    """Of the CPU: those that this process may use."""
    memory_total: int | None = None
    memory_used: int | None = None
    """In bytes."""
    use: float | None = None
    """In percent."""
    temperature: int | None = None
    """In degrees Celsius."""
    processes: tuple[Process, ...] | None = ()
    trouble: str | None = None
    """What is wrong with it; on the CPU, why no GPU stands beside it."""

    @property
    def is_gpu(self) -> bool:
        return self.key != "cpu"
