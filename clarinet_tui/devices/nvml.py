"""Read the state of GPUs from NVIDIA's management library; imported only when devices are listed."""

import re
from collections.abc import Sequence
from typing import Any

import psutil
import pynvml

from clarinet_tui.devices.device import Device, DeviceProcess

UNSUPPORTED = (
    pynvml.NVML_ERROR_NOT_SUPPORTED,
    pynvml.NVML_ERROR_FUNCTION_NOT_FOUND,
    pynvml.NVML_ERROR_NO_PERMISSION,
    pynvml.NVML_ERROR_INVALID_ARGUMENT,
)
"""Errors of a healthy GPU: a MIG slice, a small GPU or an old driver does not report everything."""


def read_gpus(visible: str | None) -> tuple[list[Device], str | None]:
    """Return the GPUs that CUDA_VISIBLE_DEVICES shows, in torch's order, and what is wrong with the driver."""
    try:
        pynvml.nvmlInit()
        try:
            return [gpu.read(f"cuda:{number}") for number, gpu in enumerate(_visible_gpus(visible))], None
        finally:
            # An open library would block the reset of a GPU and the update of the driver.
            pynvml.nvmlShutdown()
    except pynvml.NVMLError as error:
        return [], _driver_problem(error)


def _driver_problem(error: Any) -> str | None:
    """Return None for a machine without NVIDIA's library: it has no GPU."""
    if error.value == pynvml.NVML_ERROR_LIBRARY_NOT_FOUND:
        return None
    if error.value == pynvml.NVML_ERROR_DRIVER_NOT_LOADED:
        return "NVIDIA's library is installed, but its driver is not loaded: no GPU can be used"
    return f"NVIDIA's driver fails ({str(error).rstrip('.')}): no GPU can be used; run nvidia-smi for details"


def _visible_gpus(visible: str | None) -> "list[_Gpu]":
    if visible is not None and visible.startswith("MIG-"):
        # A process sees at most one MIG slice, and NVML finds it only by its UUID.
        return [_find_slice(visible.split(",")[0])]
    all_gpus = (_find_gpu(index) for index in range(pynvml.nvmlDeviceGetCount()))
    gpus = [gpu for gpu in all_gpus if gpu is not None]
    return [gpus[index] for index in visible_indices(visible, [gpu.key for gpu in gpus])]


def _find_gpu(index: int) -> "_Gpu | None":
    """Return None for a GPU of another batch job or container, which CUDA does not count either."""
    key = f"number {index}"
    try:
        gpu = _Gpu(pynvml.nvmlDeviceGetHandleByIndex(index), key)
    except pynvml.NVMLError as error:
        return None if error.value == pynvml.NVML_ERROR_NO_PERMISSION else _Gpu(None, key, str(error))
    gpu.key = gpu.query("nvmlDeviceGetUUID") or key
    return gpu


def _find_slice(uuid: str) -> "_Gpu":
    try:
        return _Gpu(pynvml.nvmlDeviceGetHandleByUUID(uuid), uuid)
    except pynvml.NVMLError as error:
        return _Gpu(None, uuid, str(error))


def visible_indices(value: str | None, uuids: Sequence[str]) -> list[int]:
    """Return the indices of the GPUs that CUDA_VISIBLE_DEVICES shows, in its order.

    As in CUDA, the list ends at the first invalid entry, and a repeated entry makes it empty.
    """
    if value is None:
        return list(range(len(uuids)))
    by_uuid = value.startswith("GPU-")
    indices: list[int] = []
    for entry in value.split(","):
        index = _match_uuid(entry, uuids) if by_uuid else _match_number(entry.strip(), len(uuids))
        if index is None:
            break
        if index in indices:
            return []
        indices.append(index)
    return indices


def _match_uuid(entry: str, uuids: Sequence[str]) -> int | None:
    """Return the only GPU whose UUID starts with `entry`."""
    matches = [index for index, uuid in enumerate(uuids) if entry.startswith("GPU-") and uuid.startswith(entry)]
    return matches[0] if len(matches) == 1 else None


def _match_number(entry: str, count: int) -> int | None:
    """Read the digits at the start of an entry and ignore what follows, as CUDA does."""
    digits = re.match(r"\+?([0-9]+)", entry)
    index = int(digits[1]) if digits else count
    return index if index < count else None


class _Gpu:
    """One GPU, queried value by value; what it does not report is None."""

    def __init__(self, handle: Any, key: str, problem: str | None = None) -> None:
        self._handle, self.key, self._problem = handle, key, problem

    def query(self, function: str, *arguments: Any) -> Any:
        if self._handle is None:
            return None
        try:
            return getattr(pynvml, function)(self._handle, *arguments)
        except pynvml.NVMLError as error:
            if error.value not in UNSUPPORTED:
                self._problem = str(error)
            return None

    def read(self, label: str) -> Device:
        memory = self.query("nvmlDeviceGetMemoryInfo")
        utilization = self.query("nvmlDeviceGetUtilizationRates")
        return Device(
            key=self.key,
            label=label,
            name=self.query("nvmlDeviceGetName") or "unknown GPU",
            memory_total=None if memory is None else memory.total,
            memory_used=None if memory is None else memory.used,
            utilization=None if utilization is None else float(utilization.gpu),
            temperature=self._temperature(),
            processes=self._processes(),
            problem=self._problem and f"NVIDIA's driver reports: {self._problem}",
        )

    def _temperature(self) -> int | None:
        """Drivers before 570 have only the second function, CUDA 14 and later only the first."""
        for function in ("nvmlDeviceGetTemperatureV", "nvmlDeviceGetTemperature"):
            sensor = pynvml.NVML_TEMPERATURE_GPU
            degrees: int | None = self.query(function, sensor) if hasattr(pynvml, function) else None
            if degrees is not None:
                return degrees
        return None

    def _processes(self) -> tuple[DeviceProcess, ...] | None:
        """Return computing processes first; one that also draws is listed once."""
        computing = self.query("nvmlDeviceGetComputeRunningProcesses_v3")
        drawing = self.query("nvmlDeviceGetGraphicsRunningProcesses_v3")
        if computing is None and drawing is None:
            return None
        processes: dict[int, DeviceProcess] = {}
        for computes, reported in ((True, computing or ()), (False, drawing or ())):
            for process in reported:
                if process.pid not in processes:
                    processes[process.pid] = _read_process(process.pid, process.usedGpuMemory, computes)
        return tuple(processes.values())


def _read_process(pid: int, memory: int | None, computes: bool) -> DeviceProcess:
    """Leave owner and command unknown if the process is in another container, whose pids differ from ours."""
    owner = command = None
    try:
        process = psutil.Process(pid)
        with process.oneshot():
            command, owner = process.name(), process.username()
    except psutil.Error:
        pass
    return DeviceProcess(pid=pid, owner=owner, command=command, memory=memory, computes=computes)
