"""List the GPUs and the CPU of this machine."""

import functools
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Self

from clarinet_tui.devices.device import Device
from clarinet_tui.devices.gpu_lock import with_lock_holders
from clarinet_tui.devices.other_gpus import describe_unused_gpus, read_other_gpus, torch_backend
from clarinet_tui.devices.placement import VISIBLE_DEVICES
from core.errors import InputError
from core.resolve import available_cores

if TYPE_CHECKING:
    from clarinet_tui.devices.nvml import Nvml


def list_devices(environ: Mapping[str, str] = os.environ, *, seconds: float = 0.1) -> list[Device]:
    """Return the GPUs in torch's order, then the CPU, whose utilization is measured for `seconds` (0: not measured)."""
    with DeviceReader(environ, seconds=seconds) as reader:
        return reader.read()


class DeviceReader:
    """Reads the devices repeatedly; `close` it between reads that are far apart, and the next read opens it again.

    CUDA_VISIBLE_DEVICES counts in PCI order, as nvidia-smi and our workers do.
    """

    def __init__(self, environ: Mapping[str, str] = os.environ, *, seconds: float = 0.1) -> None:
        self._environ, self._seconds = environ, seconds
        self._nvml: Nvml | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(self) -> list[Device]:
        gpus, problem = self._read_gpus()
        note = None if gpus else describe_unused_gpus(torch_backend())
        return [*with_lock_holders(gpus), read_cpu(self._seconds, problem, note)]

    def read_gpus(self) -> list[Device]:
        """Return the GPUs without the holders of their locks."""
        return self._read_gpus()[0]

    def _read_gpus(self) -> tuple[list[Device], str | None]:
        from clarinet_tui.devices.nvml import Nvml

        self._nvml = self._nvml or Nvml()
        gpus, problem = self._nvml.read(self._environ.get(VISIBLE_DEVICES))
        try:
            return [*gpus, *read_other_gpus(torch_backend(), self._environ)], problem
        except InputError as error:
            return gpus, problem or str(error)

    def close(self) -> None:
        if self._nvml is not None:
            self._nvml.close()


def read_cpu(seconds: float, problem: str | None = None, note: str | None = None) -> Device:
    """Count only the cores that this process may use: a batch job may have fewer than the machine."""
    import psutil

    memory = psutil.virtual_memory()
    return Device(
        key="cpu",
        label="cpu",
        name=cpu_name(),
        cores=available_cores(),
        memory_total=memory.total,
        memory_used=memory.total - memory.available,
        utilization=psutil.cpu_percent(seconds) if seconds > 0 else None,
        problem=problem,
        note=note,
    )


@functools.cache
def cpu_name() -> str:
    """Return the model name on Linux PCs, elsewhere the architecture."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or platform.machine() or "CPU"
