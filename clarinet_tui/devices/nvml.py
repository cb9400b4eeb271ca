"""GPUs as NVIDIA's management library knows them. Loaded only when somebody asks for devices."""

from collections.abc import Iterable
from typing import Any

import psutil
import pynvml

from clarinet_tui.devices.device import Device, Process
from clarinet_tui.devices.visible import visible_indices

UNTOLD = (
    pynvml.NVML_ERROR_NOT_SUPPORTED,
    pynvml.NVML_ERROR_FUNCTION_NOT_FOUND,
    pynvml.NVML_ERROR_NO_PERMISSION,
    pynvml.NVML_ERROR_INVALID_ARGUMENT,
)
"""What a healthy GPU may answer: a slice of one, a small one or an old driver does not know everything."""


def read_gpus(visible: str | None) -> tuple[list[Device], str | None]:
    """The GPUs that CUDA_VISIBLE_DEVICES leaves, as torch counts them, and what is wrong with the driver."""
    try:
        pynvml.nvmlInit()
        try:
            return [gpu.read(f"cuda:{number}") for number, gpu in enumerate(_visible_gpus(visible))], None
        finally:
            # Not kept open: that would stand in the way of whoever resets a GPU or renews the driver.
            pynvml.nvmlShutdown()
    except pynvml.NVMLError as error:
        return [], _trouble(error)


def _trouble(error: Any) -> str | None:
    """A machine without NVIDIA's library has no trouble: it has no GPU."""
    if error.value == pynvml.NVML_ERROR_LIBRARY_NOT_FOUND:
        return None
    if error.value == pynvml.NVML_ERROR_DRIVER_NOT_LOADED:
        return "NVIDIA's library is here, but its driver is not loaded: no GPU can be used"
    return f"NVIDIA's driver fails ({str(error).rstrip('.')}): no GPU can be used; nvidia-smi may say why"


def _visible_gpus(visible: str | None) -> "list[_Gpu]":
    if visible is not None and visible.startswith("MIG-"):
        # A process sees one slice of a GPU at most, and NVML finds it only by its own id.
        return [_slice(visible.split(",")[0])]
    found = (_whole(index) for index in range(pynvml.nvmlDeviceGetCount()))
    gpus = [gpu for gpu in found if gpu is not None]
    return [gpus[index] for index in visible_indices(visible, [gpu.key for gpu in gpus])]


def _whole(index: int) -> "_Gpu | None":
    """None for a GPU of another batch job or container: CUDA does not count it either."""
    unknown = f"number {index}"
    try:
        gpu = _Gpu(pynvml.nvmlDeviceGetHandleByIndex(index), unknown)
    except pynvml.NVMLError as error:
        return None if error.value == pynvml.NVML_ERROR_NO_PERMISSION else _Gpu(None, unknown, str(error))
    gpu.key = gpu.ask("nvmlDeviceGetUUID") or unknown
    return gpu


def _slice(uuid: str) -> "_Gpu":
    try:
        return _Gpu(pynvml.nvmlDeviceGetHandleByUUID(uuid), uuid)
    except pynvml.NVMLError as error:
        return _Gpu(None, uuid, str(error))


class _Gpu:
    """One GPU, asked one question at a time: what it does not answer stays unknown."""

    def __init__(self, handle: Any, key: str, trouble: str | None = None) -> None:
        self._handle = handle
        self._trouble = trouble
        self.key = key

    def ask(self, question: str, *words: Any) -> Any:
        if self._handle is None:
            return None
        try:
            return getattr(pynvml, question)(self._handle, *words)
        except pynvml.NVMLError as error:
            if error.value not in UNTOLD:
                self._trouble = str(error)
            return None

    def read(self, label: str) -> Device:
        name = self.ask("nvmlDeviceGetName")
        memory = self.ask("nvmlDeviceGetMemoryInfo")
        use = self.ask("nvmlDeviceGetUtilizationRates")
        temperature = self._temperature()
        processes = self._processes()
        return Device(
            key=self.key,
            label=label,
            name=name or "unknown GPU",
            memory_total=None if memory is None else memory.total,
            memory_used=None if memory is None else memory.used,
            use=None if use is None else float(use.gpu),
            temperature=temperature,
            processes=processes,
            trouble=self._trouble and f"{label}: NVIDIA's driver says: {self._trouble}",
        )

    def _temperature(self) -> int | None:
        """Drivers before 570 know the second question only; from CUDA 14 on there is the first only."""
        for question in ("nvmlDeviceGetTemperatureV", "nvmlDeviceGetTemperature"):
            degrees: int | None = self.ask(question, pynvml.NVML_TEMPERATURE_GPU) if hasattr(pynvml, question) else None
            if degrees is not None:
                return degrees
        return None

    def _processes(self) -> tuple[Process, ...] | None:
        computing = self.ask("nvmlDeviceGetComputeRunningProcesses_v3")
        drawing = self.ask("nvmlDeviceGetGraphicsRunningProcesses_v3")
        if computing is None and drawing is None:
            return None
        return _described(computing or (), drawing or ())


def _described(computing: Iterable[Any], drawing: Iterable[Any]) -> tuple[Process, ...]:
    """Who computes first; a process that does both is told once."""
    found: dict[int, Process] = {}
    for computes, listed in ((True, computing), (False, drawing)):
        for entry in listed:
            if entry.pid not in found:
                found[entry.pid] = _process(entry.pid, entry.usedGpuMemory, computes)
    return tuple(found.values())


def _process(pid: int, memory: int | None, computes: bool) -> Process:
    """A process of another container has a pid that means nothing here."""
    owner = command = None
    try:
        process = psutil.Process(pid)
        with process.oneshot():
            command, owner = process.name(), process.username()
    except psutil.Error:
        pass
    return Process(pid=pid, owner=owner, command=command, memory=memory, computes=computes)
