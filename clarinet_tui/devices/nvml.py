"""Read the state of GPUs from NVIDIA's management library (NVML); imported only when devices are listed."""

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import psutil
import pynvml

from clarinet_tui.devices.device import ComputeMode, Device, DeviceProcess

UNSUPPORTED = (
    pynvml.NVML_ERROR_NOT_SUPPORTED,
    pynvml.NVML_ERROR_FUNCTION_NOT_FOUND,
    pynvml.NVML_ERROR_NO_PERMISSION,
    pynvml.NVML_ERROR_INVALID_ARGUMENT,
)
"""Errors of a healthy GPU: a MIG slice, a small GPU or an old driver does not report everything."""
COMPUTE_MODES = {
    pynvml.NVML_COMPUTEMODE_EXCLUSIVE_PROCESS: ComputeMode.EXCLUSIVE,
    pynvml.NVML_COMPUTEMODE_PROHIBITED: ComputeMode.PROHIBITED,
}
UNCORRECTED = (pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, pynvml.NVML_VOLATILE_ECC)
THROTTLING = {
    pynvml.nvmlClocksEventReasonHwThermalSlowdown | pynvml.nvmlClocksEventReasonSwThermalSlowdown: "heat",
    pynvml.nvmlClocksEventReasonHwPowerBrakeSlowdown: "its power supply",
    pynvml.nvmlClocksEventReasonHwSlowdown: "heat or its power supply",
}
"""Reasons for slower clocks that are not normal under load."""


class Nvml:
    """The library, open from the first read until `close`: opening it takes up to seconds on a machine of many GPUs."""

    def __init__(self) -> None:
        self._is_open = False

    def read(self, visible: str | None) -> tuple[list[Device], str | None]:
        """Return the GPUs that CUDA_VISIBLE_DEVICES shows, in torch's order, and what is wrong with the driver."""
        try:
            if not self._is_open:
                pynvml.nvmlInit()
                self._is_open = True
            driver = pynvml.nvmlSystemGetDriverVersion()
            gpus = [gpu.read(driver) for gpu in _visible_gpus(visible)]
        except pynvml.NVMLError as error:
            self.close()
            if error.value == pynvml.NVML_ERROR_LIBRARY_NOT_FOUND:
                return [], None  # a machine without NVIDIA's library has no GPU
            if error.value == pynvml.NVML_ERROR_DRIVER_NOT_LOADED:
                return [], "NVIDIA's library is installed, but its driver is not loaded: no GPU can be used"
            reason = str(error).rstrip(".")
            return [], f"NVIDIA's driver fails ({reason}): no GPU can be used; run nvidia-smi for details"
        if any(gpu.problem for gpu in gpus):
            self.close()  # a GPU that was lost is found again only after the library is opened again
        return gpus, None

    def close(self) -> None:
        """Close the library, which would block the reset of a GPU and the update of the driver."""
        if self._is_open:
            self._is_open = False
            with suppress(pynvml.NVMLError):
                pynvml.nvmlShutdown()


def _visible_gpus(visible: str | None) -> "list[_Gpu]":
    """Return the visible GPUs with their labels, and instead of a divided GPU (MIG) its instances."""
    if visible is not None and visible.startswith("MIG-"):
        return _find_named_slices(visible.split(","))
    gpus: list[_Gpu] = []
    for index in range(pynvml.nvmlDeviceGetCount()):
        name = f"number {index}"
        try:
            gpus.append(_Gpu(pynvml.nvmlDeviceGetHandleByIndex(index), name))
        except pynvml.NVMLError as error:
            if error.value != pynvml.NVML_ERROR_NO_PERMISSION:  # of another container, which CUDA does not count either
                gpus.append(_Gpu(None, name, problem=str(error)))
    shown = [gpus[index] for index in visible_indices(visible, [gpu.key for gpu in gpus])]
    for number, gpu in enumerate(shown):
        gpu.label = f"cuda:{number}"
    return [part for gpu in shown for part in (gpu.find_slices() or [gpu])]


def _find_named_slices(uuids: Sequence[str]) -> "list[_Gpu]":
    """Return the instances up to the first that does not exist, as CUDA does; the first is returned in any case."""
    slices: list[_Gpu] = []
    for uuid in uuids:
        label = f"cuda:{len(slices)}"
        try:
            slices.append(_Gpu(pynvml.nvmlDeviceGetHandleByUUID(uuid), uuid, label))
        except pynvml.NVMLError as error:
            return slices or [_Gpu(None, uuid, label, str(error))]
    return slices


def visible_indices(value: str | None, uuids: Sequence[str]) -> list[int]:
    """Return the indices of the GPUs that CUDA_VISIBLE_DEVICES shows, in its order.

    As in CUDA, the list ends at the first invalid entry, and a repeated entry makes it empty. An entry is the start of
    one GPU's UUID, or begins with its number.
    """
    if value is None:
        return list(range(len(uuids)))
    by_uuid = value.startswith("GPU-")
    indices: list[int] = []
    for entry in value.split(","):
        if by_uuid:
            matches = [index for index, uuid in enumerate(uuids) if entry.startswith("GPU-") and uuid.startswith(entry)]
        else:
            digits = re.match(r"\+?([0-9]+)", entry.strip())
            matches = [int(digits[1])] if digits and int(digits[1]) < len(uuids) else []
        if len(matches) != 1:
            break
        if matches[0] in indices:
            return []
        indices += matches
    return indices


class _Gpu:
    """A GPU or an instance of one, queried value by value; what it does not report is None."""

    def __init__(
        self, handle: Any, name: str, label: str = "", problem: str | None = None, parent: "_Gpu | None" = None
    ) -> None:
        self._handle, self.label, self._problem, self._whole = handle, label, problem, parent or self
        self.key = self.query("nvmlDeviceGetUUID") or name

    def query(self, function: str, *arguments: Any) -> Any:
        if self._handle is None:
            return None
        try:
            return getattr(pynvml, function)(self._handle, *arguments)
        except pynvml.NVMLError as error:
            if error.value not in UNSUPPORTED:
                self._problem = str(error)
            return None

    def find_slices(self) -> "list[_Gpu]":
        """Return the instances of a divided GPU (MIG), which CUDA uses instead of the GPU itself."""
        mode = self.query("nvmlDeviceGetMigMode")
        if mode is None or mode[0] != pynvml.NVML_DEVICE_MIG_ENABLE:
            return []
        slices: list[_Gpu] = []
        for index in range(self.query("nvmlDeviceGetMaxMigDeviceCount") or 0):
            with suppress(pynvml.NVMLError):  # instances are numbered with gaps
                handle = pynvml.nvmlDeviceGetMigDeviceHandleByIndex(self._handle, index)
                label = f"{self.label}:{len(slices)}"
                slices.append(_Gpu(handle, f"{self.key}, instance {index}", label, parent=self))
        return slices

    def read(self, driver: str) -> Device:
        memory = self.query("nvmlDeviceGetMemoryInfo")
        utilization = self.query("nvmlDeviceGetUtilizationRates")
        milliwatts = self.query("nvmlDeviceGetPowerUsage")
        millijoules = self.query("nvmlDeviceGetTotalEnergyConsumption")
        whole = self._whole
        mode = whole.query("nvmlDeviceGetComputeMode")
        slower = ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")
        throttling = whole._query_either(*slower) or 0
        return Device(
            key=self.key,
            label=self.label,
            name=self.query("nvmlDeviceGetName") or "unknown GPU",
            memory_total=None if memory is None else memory.total,
            memory_used=None if memory is None else memory.used,
            utilization=None if utilization is None else float(utilization.gpu),
            temperature=whole._query_either(
                "nvmlDeviceGetTemperatureV", "nvmlDeviceGetTemperature", pynvml.NVML_TEMPERATURE_GPU
            ),
            power=None if milliwatts is None else milliwatts / 1000,
            energy=None if millijoules is None else millijoules / 1000,
            compute_mode=COMPUTE_MODES.get(mode, ComputeMode.DEFAULT),
            memory_errors=whole.query("nvmlDeviceGetTotalEccErrors", *UNCORRECTED) or 0,
            throttling=next((name for mask, name in THROTTLING.items() if throttling & mask), None),
            driver=driver,
            processes=self._processes(),
            problem=self._problem and f"NVIDIA's driver reports: {self._problem}",
        )

    def _query_either(self, newer: str, older: str, *arguments: Any) -> Any:
        """Call the first function that answers: old drivers have only the second, CUDA 14 and later only the first."""
        answers = (self.query(name, *arguments) for name in (newer, older) if hasattr(pynvml, name))
        return next((answer for answer in answers if answer is not None), None)

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
                    processes[process.pid] = read_process(process.pid, process.usedGpuMemory, computes)
        return tuple(processes.values())


def read_process(pid: int, memory: int | None, computes: bool) -> DeviceProcess:
    """Leave owner and command unknown if the process is in another container, whose pids differ from ours."""
    owner = command = None
    with suppress(psutil.Error), (process := psutil.Process(pid)).oneshot():
        command, owner = process.name(), process.username()
    return DeviceProcess(pid=pid, owner=owner, command=command, memory=memory, computes=computes)
